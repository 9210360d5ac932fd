// The time zones of sources, by name: what a zone is may change with the operating system's data,
// and a name may go.
#pragma once

#include <cstdint>

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "pgtime.h"
}

namespace dp_counter::pg {

/// The name that the argument means, as pg_timezone_names has it: for NULL the session's zone.
/// Raises invalid_parameter_value for any other name, also for one that SET TimeZone would take as
/// a number of hours or as a rule.
[[nodiscard]] char* read_time_zone(const Argument& argument);

/// The zone that a source has. Raises invalid_parameter_value where its name has gone.
[[nodiscard]] pg_tz* find_zone(const char* name);

/// Calls see(time, offset) for `first`, with the zone's offset from UTC in seconds, east of it
/// positive, and for each change of it after that and before `end`, with the new one.
template <class See>
void visit_offsets(const pg_tz* zone, pg_time_t first, pg_time_t end, const See& see) {
    see(first, pg_localtime(&first, zone)->tm_gmtoff);
    long offsets[2];
    int is_summer[2];
    pg_time_t time = first;
    while (time < end && pg_next_dst_boundary(&time, &offsets[0], &is_summer[0], &time, &offsets[1],
                                              &is_summer[1], zone) == 1)
        if (offsets[0] != offsets[1] && time < end)
            see(time, offsets[1]);
}

/// A digest of the zone's offsets from UTC in the times that a counter can see: from so many days
/// before `since` to the year 2100. Equal where the offsets are.
[[nodiscard]] std::int64_t digest_of_offsets(const char* name, Timestamp since, std::int32_t days);

} // namespace dp_counter::pg
