#include <algorithm>
#include <limits>
#include <numeric>

#include "pg/calendar/periods.hpp"

#include "core/base/bisection.hpp"
#include "core/count/own_window.hpp"

#include "pg/calendar/time_zones.hpp"
#include "pg/server/arguments.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
}

namespace dp_counter::pg {

namespace {

[[noreturn]] void raise_out_of_range(const char* detail = nullptr) {
    ereport(ERROR,
            (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
             errmsg("the counter's periods are out of range"),
             detail != nullptr ? errdetail("%s", detail) : 0,
             errhint("All periods, and grace after them, must be between 4713 BC and 294276 AD.")));
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

Timestamp local_of(TimestampTz time, pg_tz* zone) {
    struct pg_tm broken_down;
    fsec_t fraction = 0;
    int offset = 0;
    Timestamp local = 0;
    if (timestamp2tm(time, &offset, &broken_down, &fraction, nullptr, zone) != 0 ||
        tm2timestamp(&broken_down, fraction, nullptr, &local) != 0)
        raise_out_of_range();
    return local;
}

/// The next change of the zone's offset.
TimestampTz next_change(TimestampTz time, pg_tz* zone) {
    const pg_time_t before = timestamptz_to_time_t(time);
    long offsets[2];
    int is_summer[2];
    pg_time_t change = 0;
    if (pg_next_dst_boundary(&before, &offsets[0], &is_summer[0], &change, &offsets[1],
                             &is_summer[1], zone) != 1)
        return time;
    return time_t_to_timestamptz(change);
}

/// The instant of a local time; of one that the zone skips, when it does.
TimestampTz instant(Timestamp local, pg_tz* zone) {
    struct pg_tm broken_down;
    fsec_t fraction = 0;
    TimestampTz result = 0;
    if (timestamp2tm(local, nullptr, &broken_down, &fraction, nullptr, zone) != 0)
        raise_out_of_range();
    int offset = DetermineTimeZoneOffset(&broken_down, zone);
    if (tm2timestamp(&broken_down, fraction, &offset, &result) != 0)
        raise_out_of_range();
    const std::int64_t skipped = local_of(result, zone) - local; // then by the offset of before
    return skipped == 0 ? result : next_change(result - skipped, zone);
}

/// When period n ends, at least at the end `before` of the one before, and when a tick may close
/// it.
struct PeriodEnd {
    TimestampTz ends;
    TimestampTz due;
};

PeriodEnd end_of(const Schedule& schedule, pg_tz* zone, std::int64_t n, TimestampTz before) {
    const Timestamp local = local_end(schedule, n);
    TimestampTz ends = instant(local, zone);
    if (schedule.type == TIMESTAMPTZOID)
        ends = std::max(ends, before);
    return {ends, std::max(ends, instant(plus(local, schedule.grace), zone))};
}

/// Whether end_of can compute the n-th end, with days to spare.
bool is_in_range(const Schedule& schedule, std::int64_t n) {
    const int128 length = n * length_of(schedule.every, 31) + length_of(schedule.grace, 31);
    return schedule.since + length < END_TIMESTAMP - 2 * USECS_PER_DAY;
}

bool is_negative(const Interval& interval) {
    return interval.month < 0 || interval.day < 0 || interval.time < 0;
}

/// How far local times are ahead of the face on which own windows are computed, in microseconds.
struct Offsets {
    std::int64_t least;
    std::int64_t most;
};

Offsets offsets_of(const Schedule& schedule, LastClosed closed) {
    if (schedule.type != TIMESTAMPTZOID)
        return {0, 0};
    pg_tz* zone = find_zone(schedule.time_zone);
    const TimestampTz since = instant(schedule.since, zone);
    constexpr pg_time_t k60Years = pg_time_t{60} * 366 * SECS_PER_DAY;
    const TimestampTz now = GetCurrentTransactionStartTimestamp();
    Offsets offsets{schedule.since - since, schedule.since - since};
    const auto add = [&](std::int64_t offset) {
        offsets = {std::min(offsets.least, offset), std::max(offsets.most, offset)};
    };
    visit_offsets(zone, timestamptz_to_time_t(since),
                  timestamptz_to_time_t(std::max(since, now)) + k60Years,
                  [&](pg_time_t /*time*/, long seconds) { add(seconds * USECS_PER_SEC); });
    if (closed.step != 0) // by the rules of then
        add(local_end(schedule, closed.step) - closed.ended);
    return offsets;
}

/// The last midnight at which days that contain this boundary, but do not begin with it, can begin.
std::int64_t last_midnight(std::int64_t boundary) {
    return day_of(boundary - 1) * USECS_PER_DAY;
}

} // namespace

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
    (void)find_zone(schedule.time_zone);
    if (schedule.since < MIN_TIMESTAMP + 2 * USECS_PER_DAY || !is_in_range(schedule, horizon))
        raise_out_of_range(psprintf(
            R"(since is "%s", every "%s", grace "%s"%s.)", text_of(schedule.since),
            text_of(schedule.every), text_of(schedule.grace),
            horizon > 1 ? psprintf(", horizon %lld", static_cast<long long>(horizon)) : ""));
}

Timestamp face_of_local(Oid type, const char* time_zone, Timestamp local) {
    return type != TIMESTAMPTZOID || TIMESTAMP_NOT_FINITE(local)
               ? local
               : instant(local, find_zone(time_zone));
}

Timestamp local_of_face(Oid type, const char* time_zone, Timestamp face) {
    return type != TIMESTAMPTZOID ? face : local_of(face, time_zone);
}

Timestamp local_of(TimestampTz instant, const char* time_zone) {
    return local_of(instant, find_zone(time_zone));
}

Timestamp face_of_boundary(const Schedule& schedule, std::int64_t n) {
    return face_of_local(schedule.type, schedule.time_zone, local_end(schedule, n));
}

DuePeriods due_periods(const Schedule& schedule, std::int64_t steps, std::int64_t last,
                       TimestampTz ended, TimestampTz now) {
    pg_tz* zone = find_zone(schedule.time_zone);
    const Size bytes = static_cast<Size>(last - steps + 1) * sizeof(Timestamp);
    DuePeriods due{0, static_cast<Timestamp*>(palloc(bytes)),
                   static_cast<Timestamp*>(palloc(bytes)), ended};
    const auto start = [&](std::int64_t n) -> TimestampTz {
        if (schedule.type != TIMESTAMPTZOID)
            return local_end(schedule, n);
        return n == 0 ? instant(schedule.since, zone) : due.ended;
    };
    due.starts[0] = due.shown[0] = start(steps);
    for (std::int64_t n = steps + 1; n <= last; ++n) {
        CHECK_FOR_INTERRUPTS();
        const PeriodEnd end = end_of(schedule, zone, n, due.shown[due.count]);
        if (end.due > now)
            break;
        due.ended = end.ends;
        ++due.count;
        due.starts[due.count] = due.shown[due.count] = start(n);
    }
    return due;
}

bool find_open_period(const Schedule& schedule, std::int64_t steps, std::int64_t horizon,
                      TimestampTz ended, TimestampTz now, OpenPeriod& period) {
    pg_tz* zone = pg_tzset(schedule.time_zone);
    if (zone == nullptr)
        zone = pg_tzset("GMT");
    const auto shortest = static_cast<std::int64_t>(length_of(schedule.every, 28));
    if ((horizon != kUnbounded && steps >= horizon) || shortest <= 0 ||
        TIMESTAMP_NOT_FINITE(schedule.since) || !is_in_range(schedule, steps + 1))
        return false;
    const TimestampTz before = steps == 0 ? instant(schedule.since, zone) : ended;
    const PeriodEnd first = end_of(schedule, zone, steps + 1, before);
    period = {first.ends, first.due, 0};
    if (first.due > now)
        return true;
    // Local times are less than a day from the zone's.
    std::int64_t last = (now - schedule.since + 2 * USECS_PER_DAY) / shortest + 1;
    if (horizon != kUnbounded)
        last = std::min(last, horizon);
    const auto is_due = [&](std::int64_t step) {
        return end_of(schedule, zone, step, before).due <= now;
    };
    period.behind = first_without(steps + 2, last, is_due) - 1 - steps;
    return true;
}

void clamp_periods(const DuePeriods& due, Timestamp since, Timestamp until) {
    for (std::int64_t i = 0; i <= due.count; ++i)
        due.starts[i] = std::clamp(due.starts[i], since, until);
}

Timestamp read_time(const Schedule& schedule, Datum time) {
    return schedule.type == DATEOID ? DatumGetDateADT(time) * USECS_PER_DAY
                                    : DatumGetTimestamp(time);
}

Timestamp days_before(Timestamp boundary, std::int32_t days) {
    const std::int64_t most = (boundary - MIN_TIMESTAMP) / USECS_PER_DAY;
    return days > most ? MIN_TIMESTAMP : boundary - days * USECS_PER_DAY;
}

std::int64_t early_period(const Schedule& schedule, Timestamp time) {
    const Timestamp local =
        schedule.type == TIMESTAMPTZOID ? local_of(time, schedule.time_zone) : time;
    const auto about = static_cast<std::int64_t>(length_of(schedule.every, 30));
    std::int64_t n = std::min<std::int64_t>(floor_quotient(local - schedule.since, about), -1);
    while (local_end(schedule, n) > local)
        --n;
    while (n < -1 && local_end(schedule, n + 1) <= local)
        ++n;
    return n;
}

// Days that begin at a midnight touch one period more than they have boundaries inside, after their
// beginning. The first of n boundaries is at most its local time less the least offset, the last
// one at least its local time less the greatest.
std::int64_t most_periods(const Schedule& schedule, std::int32_t days, std::int32_t block,
                          LastClosed closed) {
    const Offsets offsets = offsets_of(schedule, closed);
    const std::int64_t length = days * USECS_PER_DAY;
    const Interval between = times(schedule.every, block);
    const std::int64_t every = between.day * USECS_PER_DAY + between.time;
    if (between.month == 0 && every % USECS_PER_DAY != 0) // begins anywhere in a day
        return (length + offsets.most - offsets.least - 1) / every + 2;
    if (between.month == 0) {
        const std::int64_t begin = last_midnight(schedule.since - offsets.least);
        return floor_quotient(begin + length + offsets.most - schedule.since - 1, every) + 2;
    }
    // The first one can be in any of these months of the calendar, which repeats itself.
    constexpr std::int32_t kMonths = 400 * MONTHS_PER_YEAR;
    Schedule by_month = schedule;
    by_month.every.month = 1;
    std::int64_t inside = 0;
    for (std::int32_t month = 0; month < kMonths; month += std::gcd(between.month, kMonths)) {
        CHECK_FOR_INTERRUPTS();
        const std::int64_t begin = last_midnight(local_end(by_month, month) - offsets.least);
        const auto boundary = [&](std::int64_t n) {
            return local_end(by_month, month + n * between.month) - offsets.most;
        };
        while (boundary(inside) < begin + length)
            ++inside;
    }
    return inside + 1;
}

} // namespace dp_counter::pg
