#include "pg/tables/hidden_number.hpp"

#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/multixact.h"
#include "commands/vacuum.h"
#include "storage/lmgr.h"
#include "utils/pgstat_internal.h"
#include "utils/rel.h"
}

namespace dp_counter::pg {

namespace {

void forget_rows(Relation relation, bool is_table) {
    vac_update_relstats(relation, 0, -1, 0,
#if PG_VERSION_NUM >= 180000
                        0,
#endif
                        is_table, InvalidTransactionId, InvalidMultiXactId, nullptr, nullptr, true);
}

// Reset, not dropped, which a standby would replay: up to 15.18 that ends a standby where a session
// has the counts of an earlier drop in use. pg_stat_reset_single_table_counters would change
// stats_reset of the database.
void forget_counts(Oid relation) {
    pgstat_reset_entry(PGSTAT_KIND_RELATION, MyDatabaseId, relation, 0);
}

} // namespace

void hide_number_of_tallies() {
    // A tick does not wait here for who locks them: the next one comes.
    const Oid table_id = secret_relation(kTallies.table);
    const Oid index_id = secret_relation(kTallies.index);
    if (!ConditionalLockRelationOid(table_id, AccessShareLock))
        return;
    if (!ConditionalLockRelationOid(index_id, AccessShareLock)) {
        UnlockRelationOid(table_id, AccessShareLock);
        return;
    }
    Relation table = open_secret(kTallies, NoLock);
    Relation index = index_open(index_id, NoLock);
    // A VACUUM that runs meanwhile has the lock, and stores the number after us.
    const bool is_stored = RelationGetForm(table)->reltuples >= 0 &&
                           ConditionalLockRelation(table, ShareUpdateExclusiveLock);
    if (is_stored) {
        forget_rows(table, true);
        forget_rows(index, false);
        UnlockRelation(table, ShareUpdateExclusiveLock);
    }
    forget_counts(table_id);
    forget_counts(index_id);
    index_close(index, AccessShareLock); // any role gets here, and may go on for hours
    close_secret(table, AccessShareLock);
}

} // namespace dp_counter::pg
