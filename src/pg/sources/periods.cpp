#include <algorithm>
#include <limits>

#include "pg/sources/periods.hpp"

#include "pg/server/arguments.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

[[noreturn]] void raise_out_of_range() {
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("the counter's periods are out of range"),
                    errhint("Choose a later since, a smaller horizon or a shorter every.")));
    pg_unreachable();
}

pg_tz* find_zone(const char* name) {
    pg_tz* zone = pg_tzset(name);
    if (zone == nullptr)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("time zone \"%s\" not recognized", name),
                        errhint("pg_timezone_names lists the full names.")));
    return zone;
}

Interval times(const Interval& interval, std::int64_t n) {
    const auto narrow = [](std::int64_t product) {
        if (product > std::numeric_limits<std::int32_t>::max())
            raise_out_of_range();
        return static_cast<std::int32_t>(product);
    };
    std::int64_t months = 0;
    std::int64_t days = 0;
    Interval product{};
    if (__builtin_mul_overflow(n, std::int64_t{interval.month}, &months) ||
        __builtin_mul_overflow(n, std::int64_t{interval.day}, &days) ||
        __builtin_mul_overflow(n, std::int64_t{interval.time}, &product.time))
        raise_out_of_range();
    product.month = narrow(months);
    product.day = narrow(days);
    return product;
}

Timestamp plus(Timestamp local, Interval interval) {
    return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval, TimestampGetDatum(local),
                                                 IntervalPGetDatum(&interval)));
}

/// The end of the n-th period, local.
Timestamp local_end(const Schedule& schedule, std::int64_t n) {
    return plus(schedule.since, times(schedule.every, n));
}

TimestampTz instant(Timestamp local, pg_tz* zone) {
    struct pg_tm broken_down;
    fsec_t fraction = 0;
    TimestampTz result = 0;
    if (timestamp2tm(local, nullptr, &broken_down, &fraction, nullptr, zone) != 0)
        raise_out_of_range();
    int offset = DetermineTimeZoneOffset(&broken_down, zone);
    if (tm2timestamp(&broken_down, fraction, &offset, &result) != 0)
        raise_out_of_range();
    return result;
}

bool is_negative(const Interval& interval) {
    return interval.month < 0 || interval.day < 0 || interval.time < 0;
}

char* text_of(Interval interval) {
    return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(&interval)));
}

DateADT date_of(Timestamp local) {
    return static_cast<DateADT>(local / USECS_PER_DAY - (local % USECS_PER_DAY < 0 ? 1 : 0));
}

} // namespace

void check_time_zone(const char* name) {
    if (!pg_tz_acceptable(find_zone(name))) // as SET TimeZone, which a tick does
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("time zone \"%s\" appears to use leap seconds", name)));
}

void check_schedule(const Schedule& schedule, std::int64_t horizon) {
    const bool is_date = schedule.type == DATEOID;
    check_every(schedule.every);
    if (is_date && schedule.every.time != 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("every must be whole days for a date, not \"%s\"",
                               text_of(schedule.every))));
    if (is_negative(schedule.grace))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("grace must be zero or positive, not \"%s\"", text_of(schedule.grace))));
    if (TIMESTAMP_NOT_FINITE(schedule.since))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("since must be finite")));
    if (is_date && schedule.since % USECS_PER_DAY != 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("since must be at midnight where the source's time is a date")));
    pg_tz* zone = find_zone(schedule.time_zone);
    (void)instant(schedule.since, zone);
    (void)instant(plus(local_end(schedule, horizon), schedule.grace), zone);
}

Timestamp face_of_local(Oid type, const char* time_zone, Timestamp local) {
    return type != TIMESTAMPTZOID || TIMESTAMP_NOT_FINITE(local)
               ? local
               : instant(local, find_zone(time_zone));
}

Timestamp face_of_boundary(const Schedule& schedule, std::int64_t n) {
    return face_of_local(schedule.type, schedule.time_zone, local_end(schedule, n));
}

DuePeriods due_periods(const Schedule& schedule, std::int64_t steps, std::int64_t last,
                       TimestampTz ended, TimestampTz now) {
    pg_tz* zone = find_zone(schedule.time_zone);
    std::int64_t room = 64;
    DuePeriods due{0, nullptr, nullptr, ended};
    due.starts = static_cast<std::int64_t*>(palloc(room * sizeof(std::int64_t)));
    due.shown = static_cast<TimestampTz*>(palloc(room * sizeof(TimestampTz)));
    const auto start = [&](std::int64_t n) -> TimestampTz {
        if (schedule.type != TIMESTAMPTZOID)
            return local_end(schedule, n);
        return n == 0 ? instant(schedule.since, zone) : due.ended;
    };
    const auto append = [&](std::int64_t i, TimestampTz shown) {
        if (i >= room) {
            room *= 2;
            const Size bytes = static_cast<Size>(room) * sizeof(std::int64_t);
            due.starts = static_cast<std::int64_t*>(repalloc(due.starts, bytes));
            due.shown = static_cast<TimestampTz*>(repalloc(due.shown, bytes));
        }
        due.shown[i] = shown;
        due.starts[i] = schedule.type == DATEOID ? date_of(shown) : shown;
    };
    append(0, start(steps));
    for (std::int64_t n = steps + 1; n <= last; ++n) {
        CHECK_FOR_INTERRUPTS();
        const Timestamp local = local_end(schedule, n);
        TimestampTz end = instant(local, zone);
        if (schedule.type == TIMESTAMPTZOID)
            end = std::max(end, due.shown[due.count]);
        if (end > now || instant(plus(local, schedule.grace), zone) > now)
            break;
        due.ended = end;
        append(++due.count, start(n));
    }
    return due;
}

Datum boundary_datum(const Schedule& schedule, std::int64_t boundary) {
    return schedule.type == DATEOID ? DateADTGetDatum(static_cast<DateADT>(boundary))
                                    : Int64GetDatum(boundary);
}

std::int64_t read_time(const Schedule& schedule, Datum time) {
    return schedule.type == DATEOID ? std::int64_t{DatumGetDateADT(time)} : DatumGetInt64(time);
}

} // namespace dp_counter::pg
