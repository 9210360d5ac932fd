// The tick of one counter.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// What a procedure was called for. Trivial: workers are handed it.
struct TickCall {
    TimestampTz at;
    bool is_alone; ///< for this counter: it closes all steps that are due, and of an event counter
                   ///< it says why none is
};

/// What a tick has done. Trivial.
struct Ticked {
    std::int64_t steps;    ///< published
    bool is_more_due;      ///< a call for many counters closes so many only
    bool has_periods;      ///< it has a source
    bool has_next;         ///< another period of a source follows
    TimestampTz next_ends; ///< when it ends
};

/// Closes the steps that were due at the call, publishes them and tells listeners, in transactions
/// of its own; begins in one that it commits. A counter over a source is ticked in a worker of its
/// source's owner.
[[nodiscard]] Ticked tick_counter(Oid counter, const TickCall& call);

/// Commits. PostgreSQL ends a canceled wait for standbys with a WARNING, and the transaction is
/// committed; where more counters follow, this raises operator_intervention, which ends the call.
void commit_tick(const TickCall& call);

} // namespace dp_counter::pg
