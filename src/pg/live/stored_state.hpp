// From stored bytes to the next stored bytes: what a tick asks of the core.
#pragma once

#include <cstdint>

#include "core/accuracy/release_interval.hpp"
#include "core/count/counter_state.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A state as a bytea, in secret memory, with the mechanism of its epoch.
struct StoredState {
    struct varlena* bytes;
    MechanismSpec spec;
};

/// A counter at step 0. Raises invalid_parameter_value.
[[nodiscard]] StoredState new_state(MemoryContext context, const Request& request);

/// Closes a step: the counter has had `total` events in its life. Raises data_corrupted where the
/// bytes are no state, or not the state at step `steps`; data_exception at the horizon.
[[nodiscard]] StoredState close_step(MemoryContext context, const struct varlena* stored,
                                     std::int64_t steps, int128 total, CounterRelease& release,
                                     ReleaseInterval& interval);

} // namespace dp_counter::pg
