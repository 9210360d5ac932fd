#include "pg/tables/hidden_number.hpp"

#include "pg/server/quiet_statistics.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/multixact.h"
#include "access/xact.h"
#include "commands/vacuum.h"
#include "storage/lmgr.h"
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

bool is_counted(Relation relation) {
    const PgStat_StatTabEntry* counts = pgstat_fetch_stat_tabentry(RelationGetRelid(relation));
    return counts != nullptr && (counts->numscans > 0 || counts->tuples_returned > 0 ||
                                 counts->tuples_fetched > 0 || counts->tuples_inserted > 0);
}

} // namespace

void hide_number_of_tallies() {
    // A tick does not wait here for who locks them: the next one comes.
    for (const char* name : {kTallies.table, kTallies.index})
        if (!ConditionalLockRelationOid(secret_relation(name), AccessShareLock))
            return;
    Relation table = open_secret(kTallies, NoLock);
    Relation index = index_open(secret_relation(kTallies.index), NoLock);
    // A VACUUM that runs meanwhile has the lock, and stores the number after us.
    const bool is_stored = RelationGetForm(table)->reltuples >= 0 &&
                           ConditionalLockRelation(table, ShareUpdateExclusiveLock);
    if (is_stored) {
        forget_rows(table, true);
        forget_rows(index, false);
    }
    if (is_stored || is_counted(table) || is_counted(index)) {
        (void)GetCurrentTransactionId(); // without one the commit cannot drop statistics
        without_statistics([&] {
            pgstat_drop_relation(table);
            pgstat_drop_relation(index);
        });
    }
    index_close(index, NoLock); // the transaction ends soon
    close_secret(table, NoLock);
}

} // namespace dp_counter::pg
