// When the next step of a counter is due and how many are, for dp_counters.
//
// It reads no table: the view passes what is public of the counter. It raises no error, so that one
// counter cannot hide the others.
#include <algorithm>

#include "pg/calendar/periods.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "funcapi.h"
#include "pgtime.h"
}

namespace dp_counter::pg {
namespace {

struct Arguments {
    Argument steps, horizon, every, released_at, time_type, time_zone, since, grace, ended;
};

struct NextStep {
    Datum values[2]; ///< next_due, periods_behind
    bool nulls[2]{true, true};
};

void show_event_counter(const Arguments& arguments, std::int64_t horizon, NextStep& shown) {
    const std::int64_t steps = DatumGetInt64(arguments.steps.value);
    if (arguments.every.isnull || (horizon != kUnbounded && steps >= horizon))
        return;
    const Argument& released_at = arguments.released_at;
    const TimestampTz due =
        next_step_due(steps, released_at.isnull ? 0 : DatumGetTimestampTz(released_at.value),
                      *DatumGetIntervalP(arguments.every.value));
    shown.nulls[0] = due == DT_NOEND;
    // Drivers cannot read an infinite time.
    shown.values[0] = TimestampTzGetDatum(due == DT_NOBEGIN ? SetEpochTimestamp() : due);
}

/// Its source is gone where type or zone are NULL; period and grace never are.
void show_source_counter(const Arguments& arguments, std::int64_t horizon, NextStep& shown) {
    if (arguments.time_type.isnull || arguments.time_zone.isnull || arguments.every.isnull ||
        arguments.grace.isnull)
        return;
    const Schedule schedule{
        DatumGetObjectId(arguments.time_type.value), TextDatumGetCString(arguments.time_zone.value),
        DatumGetTimestamp(arguments.since.value), *DatumGetIntervalP(arguments.every.value),
        *DatumGetIntervalP(arguments.grace.value)};
    OpenPeriod period;
    if (!find_open_period(schedule, DatumGetInt64(arguments.steps.value), horizon,
                          arguments.ended.isnull ? 0 : DatumGetTimestampTz(arguments.ended.value),
                          GetCurrentTransactionStartTimestamp(), period))
        return;
    shown.nulls[0] = shown.nulls[1] = false;
    if (pg_tzset(schedule.time_zone) == nullptr) // each tick fails: overdue, whatever is due in UTC
        period = {period.ends, SetEpochTimestamp(), std::max<std::int64_t>(period.behind, 1)};
    shown.values[0] = TimestampTzGetDatum(period.due);
    shown.values[1] = Int64GetDatum(period.behind);
}

} // namespace

DP_FUNCTION(dp_counter_next_step) {
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "next_step returns a row");
    NextStep shown{};
    const auto arguments = arguments_of<Arguments>(fcinfo);
    const std::int64_t horizon =
        arguments.horizon.isnull ? kUnbounded : DatumGetInt64(arguments.horizon.value);
    if (arguments.since.isnull)
        show_event_counter(arguments, horizon, shown);
    else
        show_source_counter(arguments, horizon, shown);
    PG_RETURN_DATUM(
        HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), shown.values, shown.nulls)));
}

} // namespace dp_counter::pg
