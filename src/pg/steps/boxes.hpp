// The periods of a counter with box noise: numbers that are each released once, whose noise shares
// a secret radius in each block of periods. Mechanism "box".
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "core/noise/box_law.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/releases_table.hpp"

namespace dp_counter::pg {

/// A stream at step 0, in secret memory. Raises invalid_parameter_value for a law whose noise is
/// out of range.
[[nodiscard]] struct varlena* new_box_state(MemoryContext context, const BoxLaw& law);

/// Closes `count` steps after step `steps`: releases[i] is counts[i] plus noise, as step
/// steps + 1 + i. Returns the next state, in secret memory. Raises data_corrupted where the bytes
/// are no state, or not the state at step `steps`.
[[nodiscard]] struct varlena* release_boxes(MemoryContext context, const BoxLaw& law,
                                            const struct varlena* stored, std::int64_t steps,
                                            const int128* counts, std::int64_t count,
                                            ClosedRelease* releases);

} // namespace dp_counter::pg
