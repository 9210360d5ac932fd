// Access to secret tables that PostgreSQL's statistics do not count.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "executor/instrument.h"
#include "pgstat.h"
}

namespace dp_counter::pg {

/// Runs `access` while the cumulative statistics stand still. Every role may read
/// pg_stat_all_tables and pg_stat_all_indexes: counts of rows written or index entries looked up in
/// the tables of events would be a true count of events. Relations must be opened inside. `access`
/// may raise.
template <class Access>
void without_statistics(const Access& access) {
    const bool was_counting = pgstat_track_counts;
    const BufferUsage buffers = pgBufferUsage; // which pg_stat_statements shows, as it does WAL
    const WalUsage wal = pgWalUsage;
    const auto restore = [&] {
        pgstat_track_counts = was_counting;
        pgBufferUsage = buffers;
        pgWalUsage = wal;
    };
    pgstat_track_counts = false;
    PG_TRY();
    { access(); }
    PG_CATCH(); // not PG_FINALLY: GCC warns of its variable
    {
        restore();
        PG_RE_THROW();
    }
    PG_END_TRY();
    restore();
}

} // namespace dp_counter::pg
