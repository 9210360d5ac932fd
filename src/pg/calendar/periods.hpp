// The periods of a counter with a source: step n is [since + (n - 1) * every, since + n * every),
// local to the source's time zone.
//
// Months have different lengths and days have 23 to 25 hours, so the n-th end is computed from
// `since`, not from the end before. For a timestamptz, ends are instants, and a period begins at
// the stored end of the one before, so that a change of the zone's rules makes no two periods
// overlap. A period that the zone skips is empty. For a timestamp or a date, ends are local, and
// the zone only determines when a period is over.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Trivial.
struct Schedule {
    Oid type; ///< of the time: timestamptz, timestamp or date
    const char* time_zone;
    Timestamp since;
    Interval every;
    Interval grace;
};

/// Periods that are over. Their boundaries are on the face of the rows' times: of a timestamptz
/// instants, of a timestamp or a date as if it were UTC.
struct DuePeriods {
    std::int64_t count;
    Timestamp* starts; ///< count + 1 of them: the last is the end of the last
    Timestamp* shown;  ///< the same, as the releases show them
    TimestampTz ended; ///< the instant at which the last one ended
};

/// Raises invalid_parameter_value unless `every` is one positive unit, whole days for a date,
/// `grace` is not negative and `since` is finite, and at midnight for a date; and
/// datetime_field_overflow where the last period would end out of range.
void check_schedule(const Schedule& schedule, std::int64_t horizon);

/// A time that is local to the zone, or infinite, as rows of this type show it, by the zone's rules
/// of today: on this face budgets are charged. For a timestamptz it is UTC, else local.
[[nodiscard]] Timestamp face_of_local(Oid type, const char* time_zone, Timestamp local);

/// The reverse.
[[nodiscard]] Timestamp local_of_face(Oid type, const char* time_zone, Timestamp face);

/// The time that is local to the zone at an instant.
[[nodiscard]] Timestamp local_of(TimestampTz instant, const char* time_zone);

/// The end of step n on that face; n = 0: the beginning of the first.
[[nodiscard]] Timestamp face_of_boundary(const Schedule& schedule, std::int64_t n);

/// The periods after step `steps` up to step `last` that are over at `now`, in
/// CurrentMemoryContext. `ended` is that of the last closed one.
[[nodiscard]] DuePeriods due_periods(const Schedule& schedule, std::int64_t steps,
                                     std::int64_t last, TimestampTz ended, TimestampTz now);

/// The first period that is not closed.
struct OpenPeriod {
    TimestampTz ends;    ///< the instant
    TimestampTz due;     ///< when a tick may close it: `grace` later
    std::int64_t behind; ///< how many periods, from this one on, are due
};

/// The period after step `steps`; `ended` is as above. False if there is none: the horizon is
/// reached, or the period ends out of range. Never raises an error: without the zone it takes UTC.
/// In the hours after clocks go forward, `behind` may count periods that a tick closes only when
/// these hours are over.
[[nodiscard]] bool find_open_period(const Schedule& schedule, std::int64_t steps,
                                    std::int64_t horizon, TimestampTz ended, TimestampTz now,
                                    OpenPeriod& period);

/// Moves boundaries that are outside of these times of the face to the next one inside. That
/// changes something only if the zone's rules have changed since the times were computed.
void clamp_periods(const DuePeriods& due, Timestamp since, Timestamp until);

/// A time of the schedule's type on its face; of a date, its midnight.
[[nodiscard]] Timestamp read_time(const Schedule& schedule, Datum time);

/// So many days before a boundary, at least the least time.
[[nodiscard]] Timestamp days_before(Timestamp boundary, std::int32_t days);

/// The number of the period before the first one, -1, -2, ..., in which a time of the face is, if
/// periods went back from `since`.
[[nodiscard]] std::int64_t early_period(const Schedule& schedule, Timestamp time);

/// The last closed period of a counter, 0: none, and when it ended.
struct LastClosed {
    std::int64_t step;
    TimestampTz ended;
};

/// The most periods that `days` days, which begin at a midnight of the times' face, can touch: 13
/// months or 53 weeks in 365 days, 54 where weeks do not begin at midnight. For a timestamptz the
/// zone's offsets up to 60 years from now count, as known today, and the one by which the last
/// closed period ended. Or the most blocks of so many periods, from the first one on.
[[nodiscard]] std::int64_t most_periods(const Schedule& schedule, std::int32_t days,
                                        std::int32_t block, LastClosed closed);

} // namespace dp_counter::pg
