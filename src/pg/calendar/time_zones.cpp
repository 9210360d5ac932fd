#include "pg/calendar/time_zones.hpp"

#include <cstring>

#include <sodium.h>

#include "pg/calendar/periods.hpp"

namespace dp_counter::pg {

namespace {

/// Reads all files of zones until one has this name, which takes 30 ms: not again for the last name
/// of the session.
bool has_a_file(const char* name) {
    static char known[TZ_STRLEN_MAX + 1];
    bool found = std::strcmp(known, name) == 0;
    if (found)
        return true;
    pg_tzenum* files = pg_tzenumerate_start();
    pg_tz* zone = nullptr;
    while (!found && (zone = pg_tzenumerate_next(files)) != nullptr)
        found = std::strcmp(pg_get_timezone_name(zone), name) == 0;
    pg_tzenumerate_end(files);
    if (found)
        strlcpy(known, name, sizeof known);
    return found;
}

constexpr pg_time_t kYear2100 = 4102444800;

} // namespace

char* read_time_zone(const Argument& argument) {
    const char* name = argument.isnull ? pg_get_timezone_name(session_timezone)
                                       : TextDatumGetCString(argument.value);
    pg_tz* zone = pg_tzset(name);
    if (zone == nullptr || !has_a_file(pg_get_timezone_name(zone)))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("\"%s\" is not the name of a time zone", name),
                        argument.isnull ? errdetail("It is the session's setting TimeZone.") : 0,
                        errhint("Write time_zone => 'Europe/Berlin', or another name that "
                                "pg_timezone_names lists.")));
    return pstrdup(pg_get_timezone_name(zone));
}

pg_tz* find_zone(const char* name) {
    pg_tz* zone = pg_tzset(name);
    if (zone == nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("time zone \"%s\" not recognized", name),
                 errdetail("The server's time zone data do not have the source's time zone."),
                 errhint("Declare the source again by dp_source_create, with a name of "
                         "pg_timezone_names that has the same offsets as time_zone.")));
    return zone;
}

std::int64_t digest_of_offsets(const char* name, Timestamp since, std::int32_t days) {
    const pg_tz* zone = find_zone(name);
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    // Two days more: `since` is local, and instants are less than a day from it.
    visit_offsets(zone, timestamptz_to_time_t(days_before(since, days + 2)), kYear2100,
                  [&](pg_time_t time, long offset) {
                      const std::int64_t numbers[] = {time, offset};
                      (void)crypto_hash_sha256_update(
                          &state, reinterpret_cast<const unsigned char*>(numbers), sizeof numbers);
                  });
    unsigned char digest[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256_final(&state, digest);
    std::int64_t beginning = 0;
    std::memcpy(&beginning, digest, sizeof beginning);
    return beginning;
}

} // namespace dp_counter::pg
