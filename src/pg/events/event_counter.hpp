// A counter fed by calls and triggers, as counters/ sees it: declare, close, end. The verbs are
// those of sources/source_counter.hpp.
#pragma once

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/counters_table.hpp"

namespace dp_counter::pg {

/// The least time between two steps; null for NULL: there is none. Raises invalid_parameter_value
/// unless it is one positive unit, and datetime_field_overflow where it never ends.
[[nodiscard]] const Interval* read_every(const Argument& argument);

/// Makes the place where the events of a new counter are added up. What dropped counters have left
/// behind goes.
void declare_event_counter(Oid counter);

/// Closes one step, with all events of transactions committed by now, in the first transaction of a
/// tick, which has locked the counter. None, with a NOTICE, where the tick was called too early.
[[nodiscard]] Closed close_event_counter(Oid counter, CounterRow& row, TimestampTz called);

/// Deletes what is kept of a counter that is dropped.
void end_event_counter(Oid counter);

} // namespace dp_counter::pg
