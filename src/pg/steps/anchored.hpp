// The periods of a counter of active persons: stocks, whose noise is that of anchors and of what
// changes after them. Mechanism "anchored".
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "core/count/anchored_law.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/releases_table.hpp"

namespace dp_counter::pg {

/// A stream at step 0, in secret memory. Raises invalid_parameter_value for a law whose noise is
/// out of range.
[[nodiscard]] struct varlena* new_anchored_state(MemoryContext context, const AnchoredLaw& law);

/// Closes `count` steps after step `steps`: releases[i] is stocks[i] plus noise, as step
/// steps + 1 + i; what it holds of another stream of the same counter spares the computation of
/// error bars. Returns the next state, in secret memory. Raises data_corrupted where the bytes are
/// no state, or not the state at step `steps`. Where `releases` is null nothing is released, and
/// stocks may be null.
[[nodiscard]] struct varlena* release_anchored(MemoryContext context, const AnchoredLaw& law,
                                               const struct varlena* stored, std::int64_t steps,
                                               const int128* stocks, std::int64_t count,
                                               ClosedRelease* releases);

/// The law of a counter with this noise.
[[nodiscard]] AnchoredLaw anchored_law_of(const CounterRow& row);

/// A stream of the counter at its last step, of a stock that was 0 in all steps: nobody has seen,
/// or ever sees, its releases so far.
[[nodiscard]] struct varlena* later_anchored_state(MemoryContext context, const CounterRow& row);

} // namespace dp_counter::pg
