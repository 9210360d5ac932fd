// dp_counter_add_groups: groups that a counter over a source gets during its life.
#include "pg/sources/further_groups.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"
}

DP_FUNCTION(dp_counter_add_groups) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_add_groups()");
    check_counter_owner(counter); // before the locks, so that nobody else can make others wait
    const WrittenGroups added =
        read_written_groups(fcinfo->args[1], fcinfo->args[2], fcinfo->args[3]);
    check_not_null(added.texts, "groups", "Name the groups to add.");
    lock_source_of(counter); // in the order of a tick
    LockRelationOid(counter, AccessExclusiveLock);
    check_counter_owner(counter);
    lock_counter(counter);
    CounterRow row;
    read_running_counter(counter, row);
    add_groups(counter, row, added);
    PG_RETURN_VOID();
}
