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

void hide_number_of_tallies() {
    Relation table = open_secret(kTallies, AccessShareLock);
    // A VACUUM that runs meanwhile has the lock, and stores the number after us.
    if (RelationGetForm(table)->reltuples >= 0 &&
        ConditionalLockRelation(table, ShareUpdateExclusiveLock)) {
        Relation index = index_open(secret_relation(kTallies.index), AccessShareLock);
        for (Relation relation : {table, index})
            vac_update_relstats(relation, 0, -1, 0,
#if PG_VERSION_NUM >= 180000
                                0,
#endif
                                relation == table, InvalidTransactionId, InvalidMultiXactId,
                                nullptr, nullptr, true);
        (void)GetCurrentTransactionId(); // without one the commit cannot drop statistics
        without_statistics([&] { pgstat_drop_relation(table); });
        index_close(index, AccessShareLock);
    }
    close_secret(table, AccessShareLock);
}

} // namespace dp_counter::pg
