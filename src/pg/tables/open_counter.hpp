// A counter as its rows have it, read once and handed down.
#pragma once

#include <optional>

#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/source_counters_table.hpp"

namespace dp_counter::pg {

/// Needs no destructor: errors may leave it. What its rows point to is in the memory context in
/// which they were read.
struct OpenCounter {
    Oid view;
    CounterRow row;
    std::optional<SourceCounterRow> declared; ///< nothing for an event counter
};

/// Nothing where the relation is no counter, or no longer.
[[nodiscard]] std::optional<OpenCounter> find_counter(Oid view);

/// Takes the lock under which a counter changes, and holds it to the end of the transaction: what
/// it returns was committed last.
[[nodiscard]] std::optional<OpenCounter> lock_counter(Oid view);

/// One that was found. Raises undefined_object if it was dropped.
[[nodiscard]] const OpenCounter& require_counter(const std::optional<OpenCounter>& found);

/// The same, and object_not_in_prerequisite_state if it has ended.
[[nodiscard]] const OpenCounter& require_running(const std::optional<OpenCounter>& found);

/// Raises object_not_in_prerequisite_state in a copy of the database in which the counter lives,
/// until it is moved here.
void check_is_here(const OpenCounter& counter);

} // namespace dp_counter::pg
