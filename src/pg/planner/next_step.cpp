// When the next step of a counter is due and how many are, for dp_counters.
//
// It reads no table: the view passes what is public of the counter. It raises no error, so that one
// counter cannot hide the others.
#include <algorithm>

#include "pg/calendar/periods.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "funcapi.h"
#include "pgtime.h"
}

namespace dp_counter::pg {
namespace {

enum ArgumentIndex {
    kSteps,
    kHorizon,
    kEvery,
    kReleasedAt,
    kTimeType,
    kTimeZone,
    kSince,
    kGrace,
    kEnded
};

struct NextStep {
    Datum values[2]; ///< next_due, periods_behind
    bool nulls[2]{true, true};
};

void show_event_counter(FunctionCallInfo fcinfo, std::int64_t horizon, NextStep& shown) {
    const std::int64_t steps = PG_GETARG_INT64(kSteps);
    if (PG_ARGISNULL(kEvery) || (horizon != kUnbounded && steps >= horizon))
        return;
    const TimestampTz due =
        next_step_due(steps, PG_ARGISNULL(kReleasedAt) ? 0 : PG_GETARG_TIMESTAMPTZ(kReleasedAt),
                      *PG_GETARG_INTERVAL_P(kEvery));
    shown.nulls[0] = due == DT_NOEND;
    // Drivers cannot read an infinite time.
    shown.values[0] = TimestampTzGetDatum(due == DT_NOBEGIN ? SetEpochTimestamp() : due);
}

/// Its source is gone where type or zone are NULL; period and grace never are.
void show_source_counter(FunctionCallInfo fcinfo, std::int64_t horizon, NextStep& shown) {
    if (PG_ARGISNULL(kTimeType) || PG_ARGISNULL(kTimeZone) || PG_ARGISNULL(kEvery) ||
        PG_ARGISNULL(kGrace))
        return;
    const Schedule schedule{PG_GETARG_OID(kTimeType), text_to_cstring(PG_GETARG_TEXT_PP(kTimeZone)),
                            PG_GETARG_TIMESTAMP(kSince), *PG_GETARG_INTERVAL_P(kEvery),
                            *PG_GETARG_INTERVAL_P(kGrace)};
    OpenPeriod period;
    if (!find_open_period(schedule, PG_GETARG_INT64(kSteps), horizon,
                          PG_ARGISNULL(kEnded) ? 0 : PG_GETARG_TIMESTAMPTZ(kEnded),
                          GetCurrentTransactionStartTimestamp(), period))
        return;
    shown.nulls[0] = shown.nulls[1] = false;
    if (pg_tzset(schedule.time_zone) == nullptr) // each tick fails: overdue, whatever is due in UTC
        period = {period.ends, SetEpochTimestamp(), std::max<std::int64_t>(period.behind, 1)};
    shown.values[0] = TimestampTzGetDatum(period.due);
    shown.values[1] = Int64GetDatum(period.behind);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_next_step) {
    using namespace dp_counter;
    using namespace dp_counter::pg;
    TupleDesc type = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "next_step returns a row");
    NextStep shown{};
    const std::int64_t horizon = PG_ARGISNULL(kHorizon) ? kUnbounded : PG_GETARG_INT64(kHorizon);
    if (PG_ARGISNULL(kSince))
        show_event_counter(fcinfo, horizon, shown);
    else
        show_source_counter(fcinfo, horizon, shown);
    PG_RETURN_DATUM(
        HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(type), shown.values, shown.nulls)));
}
