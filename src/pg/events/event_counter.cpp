#include "pg/events/event_counter.hpp"

#include "pg/events/events_table.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

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
    (void)after(GetCurrentTimestamp(), *every);
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

void declare_event_counter(std::int64_t number) {
    create_event_slots(number);
}

Closed close_event_counter(Oid counter, CounterRow& row, TimestampTz called) {
    if (row.has_every && called < next_step_due(row.steps, row.released_at, row.every)) {
        ereport(NOTICE,
                (errmsg("counter \"%s\" closes no step: the last one was closed less than %s ago",
                        name_of_relation(counter),
                        DatumGetCString(
                            DirectFunctionCall1(interval_out, IntervalPGetDatum(&row.every))))));
        return Closed::nothing;
    }
    StreamRow stored;
    read_stream(row.number, 1, stored);
    const int128 events = total_events(row.number) - stored.total;
    close_streams(counter, row, Counted{1, 1, 1, &events, 0, nullptr, called});
    return Closed::all;
}

void end_event_counter(std::int64_t number) {
    drop_event_slots(number);
}

} // namespace dp_counter::pg
