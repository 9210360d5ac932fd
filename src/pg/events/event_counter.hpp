// The tick of an event counter, which calls and triggers feed. sources/source_counter.hpp has that
// of a counter over a source.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/open_counter.hpp"

namespace dp_counter::pg {

/// Closes one step, with all events of transactions committed by now, in the first transaction of a
/// tick, which has locked the counter. Closes none, with a NOTICE, if `every` has not passed since
/// the last step.
[[nodiscard]] Closed close_event_counter(OpenCounter& counter, TimestampTz called);
} // namespace dp_counter::pg
