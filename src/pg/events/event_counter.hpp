// An event counter, which calls and triggers feed, as counters/ uses it: declare, close, end.
// sources/source_counter.hpp has the same verbs.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/open_counter.hpp"

namespace dp_counter::pg {

/// Creates the slots that add up the events of a new counter, and deletes slots that dropped
/// counters have left behind.
void declare_event_counter(std::int64_t number);

/// Closes one step, with all events of transactions committed by now, in the first transaction of a
/// tick, which has locked the counter. Closes none, with a NOTICE, if `every` has not passed since
/// the last step.
[[nodiscard]] Closed close_event_counter(OpenCounter& counter, TimestampTz called);

/// Deletes the slots of a counter that was dropped or has ended. What open transactions still
/// record is lost.
void end_event_counter(std::int64_t number);

} // namespace dp_counter::pg
