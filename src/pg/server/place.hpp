// Which database this is, to know a copy of it: a counter's state belongs to one alone.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The cluster's system identifier, the database, and the timeline of the write-ahead log. The
/// first two differ after a restore of a dump, CREATE DATABASE ... TEMPLATE and pg_upgrade, the
/// last after a promotion and a recovery to a point in time. A base backup or a snapshot of the
/// disk that just starts has all three of the original.
struct Place {
    std::int64_t system;
    Oid database;
    std::int32_t timeline;

    friend bool operator==(const Place&, const Place&) = default;
};

/// Of a server that is not in recovery.
[[nodiscard]] Place this_place();

/// Whether it is this place, so that all that was published there is here. Synchronous standbys are
/// no exception: settings do not show whether this server was one, and what it was promoted for.
[[nodiscard]] bool is_here(const Place& place);

} // namespace dp_counter::pg
