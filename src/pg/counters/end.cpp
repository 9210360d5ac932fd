// dp_counter_end: a counter that counts nothing else, and keeps its releases.
#include "pg/events/event_counter.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {
namespace {

/// All steps that it has closed must be visible: no later tick publishes them.
void check_released(Oid counter, const CounterRow& row) {
    if (row.steps == 0)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("counter \"%s\" has released nothing", name_of_relation(counter)),
                        errhint("Use dp_counter_drop to drop it.")));
    check_published(counter, row.number, row.steps);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_end) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_end()");
    check_counter_owner(counter); // before the lock, so that nobody else can make others wait
    LockRelationOid(counter, AccessExclusiveLock);
    check_counter_owner(counter);
    lock_counter(counter);
    CounterRow row;
    read_running_counter(counter, row);
    check_released(counter, row);
    delete_streams(row.number);
    if (has_source(counter))
        end_source_counter(counter, row);
    else
        end_event_counter(row.number);
    mark_counter_ended(counter);
    PG_RETURN_VOID();
}
