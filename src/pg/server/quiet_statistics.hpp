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
    const bool before = pgstat_track_counts;
    const BufferUsage buffers = pgBufferUsage;
    const WalUsage wal = pgWalUsage;
    pgstat_track_counts = false;
    PG_TRY();
    { access(); }
    PG_FINALLY();
    {
        pgstat_track_counts = before;
        pgBufferUsage = buffers;
        pgWalUsage = wal;
    }
    PG_END_TRY();
}

} // namespace dp_counter::pg
