// The extension's own tables, where counters live.
//
// They are read and written here with the access methods' own functions, never by SQL: no role's
// privileges, search path, rules or triggers have a part in it, and no role is ever changed to one
// that could do more. SQL finds them closed to everyone but the extension's owner.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/htup.h"
#include "utils/relcache.h"
}

namespace dp_counter::pg {

struct SecretTable {
    const char* table;
    const char* index; ///< on the counter, first of all
};

inline constexpr SecretTable kCounters{"counters", "counters_pkey"};
inline constexpr SecretTable kEvents{"events", "events_releases_slot_idx"};
inline constexpr SecretTable kStreams{"streams", "streams_pkey"};
inline constexpr SecretTable kReleasesTable{"releases", "releases_pkey"};
inline constexpr SecretTable kPublications{"publications", "publications_pkey"};
inline constexpr SecretTable kSources{"sources", "sources_pkey"};
inline constexpr SecretTable kSourceCounters{"source_counters", "source_counters_pkey"};

/// The OID of a secret table, or of its index. Raises undefined_table if the extension is not
/// installed.
[[nodiscard]] Oid secret_relation(const char* name);

/// Opens the table with RowExclusiveLock. Close with close_secret: the lock is given back at once
/// and not at the end of the transaction, since pg_locks shows it to everyone.
[[nodiscard]] Relation open_secret(const SecretTable& table);
void close_secret(Relation relation);

} // namespace dp_counter::pg
