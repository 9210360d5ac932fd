#include "pg/events/public_facts.hpp"

#include "pg/server/decimal_epsilon.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace dp_counter::pg {

namespace {

constexpr Interval kMostEvery{0, 0, 280000 * MONTHS_PER_YEAR}; // from now on it ends in range

/// Adds as if in UTC: the length of a day must not depend on the session's time zone.
TimestampTz after(TimestampTz time, Interval every) {
    return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval, TimestampGetDatum(time),
                                                 IntervalPGetDatum(&every)));
}

} // namespace

const Interval* read_every(const Argument& argument) {
    if (argument.isnull)
        return nullptr;
    const Interval* every = DatumGetIntervalP(argument.value);
    check_every(*every);
    if (length_of(*every, 31) > length_of(kMostEvery, 31))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("every must be at most 280000 years, not \"%s\"", text_of(*every))));
    return every;
}

TimestampTz next_step_due(std::int64_t steps, TimestampTz released_at, const Interval& every) {
    if (steps == 0)
        return DT_NOBEGIN;
    const bool is_in_range =
        released_at + length_of(every, 31) < END_TIMESTAMP && !TIMESTAMP_NOT_FINITE(released_at);
    return is_in_range ? after(released_at, every) : DT_NOEND;
}

bool is_step_due(const CounterRow& row, TimestampTz now) {
    const bool is_over = row.horizon != kUnbounded && row.steps >= row.horizon;
    return !is_over &&
           (!row.has_every || now >= next_step_due(row.steps, row.released_at, row.every));
}

char* guarantee_of_events(Numeric epsilon) {
    return psprintf("Running totals. All releases together are %s-differentially private for one "
                    "event, recorded or not in one step.",
                    text_of(epsilon));
}

} // namespace dp_counter::pg
