// dp_counter_add_groups and dp_counter_drop_groups: the groups of a counter over a source change
// during its life.
#include "pg/sources/change_groups.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {
namespace {

/// Locks it against all others, in the order of a tick.
CounterRow open_counter(Oid counter) {
    lock_source_of(counter);
    LockRelationOid(counter, AccessExclusiveLock);
    check_counter_owner(counter);
    lock_counter(counter);
    CounterRow row;
    read_running_counter(counter, row);
    return row;
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_add_groups) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_add_groups()");
    check_counter_owner(counter); // before the locks, so that nobody else can make others wait
    const WrittenGroups added =
        read_written_groups(fcinfo->args[1], fcinfo->args[2], fcinfo->args[3]);
    check_not_null(added.texts, "groups", "Name the groups to add.");
    add_groups(counter, open_counter(counter), added);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_counter_drop_groups) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_drop_groups()");
    check_counter_owner(counter); // before the locks, as above
    check_not_null(fcinfo->args[1], "groups", "Name the groups to drop.");
    drop_groups(counter, open_counter(counter), DatumGetArrayTypeP(fcinfo->args[1].value));
    PG_RETURN_VOID();
}
