// What an owner does with a running counter: dp_counter_end, dp_counter_resume,
// dp_counter_add_groups and dp_counter_drop_groups.
#include "pg/budgets/budgets.hpp"
#include "pg/events/event_counter.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/place.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/change_groups.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/faces.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
}

namespace dp_counter::pg {
namespace {

/// The argument of a call, checked before any lock, so that nobody else can make others wait.
Oid read_own_counter(FunctionCallInfo fcinfo, const char* call) {
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly(call);
    check_counter_owner(counter);
    return counter;
}

void lock_own_counter(Oid counter, LOCKMODE mode) {
    LockRelationOid(counter, mode);
    check_counter_owner(counter);
    lock_counter(counter);
    check_owner(counter);
}

CounterRow open_counter(Oid counter, LOCKMODE mode) {
    lock_own_counter(counter, mode);
    CounterRow row;
    read_running_counter(counter, row);
    return row;
}

/// Whether it has ended, and has its tallies: what was to continue it was dropped.
bool waits_to_be_continued(Oid counter, CounterRow& row) {
    SourceCounterRow declared;
    return read_counter(counter, row) && row.has_ended && read_source_counter(counter, declared) &&
           has_tally_key(declared);
}

/// Locks one over a source against all others, in the order of a tick.
CounterRow open_source_counter(Oid counter) {
    lock_source_of(counter);
    return open_counter(counter, AccessExclusiveLock);
}

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

/// It counts nothing else, and keeps its releases.
DP_FUNCTION(dp_counter_end) {
    using namespace dp_counter::pg;
    const Oid counter = read_own_counter(fcinfo, "dp_counter_end()");
    lock_own_counter(counter, AccessExclusiveLock);
    CounterRow row;
    if (waits_to_be_continued(counter, row)) {
        forget_tallies(counter, row.number);
        PG_RETURN_VOID();
    }
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

/// It goes on in a copy of its database.
DP_FUNCTION(dp_counter_resume) {
    using namespace dp_counter::pg;
    const Oid counter = read_own_counter(fcinfo, "dp_counter_resume()");
    const CounterRow row = open_counter(counter, AccessShareLock);
    keep_face(kFacesOfCounters, counter);
    check_has_tallies(counter, row);
    if (!is_here(row.place))
        book_resumption(row.number, quoted_name(counter));
    move_counter_here(counter);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_counter_add_groups) {
    using namespace dp_counter::pg;
    const Oid counter = read_own_counter(fcinfo, "dp_counter_add_groups()");
    const WrittenGroups added =
        read_written_groups(fcinfo->args[1], fcinfo->args[2], fcinfo->args[3]);
    check_not_null(added.texts, "groups", "Name the groups to add.");
    add_groups(counter, open_source_counter(counter), added);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_counter_drop_groups) {
    using namespace dp_counter::pg;
    const Oid counter = read_own_counter(fcinfo, "dp_counter_drop_groups()");
    check_not_null(fcinfo->args[1], "groups", "Name the groups to drop.");
    drop_groups(counter, open_source_counter(counter), DatumGetArrayTypeP(fcinfo->args[1].value));
    PG_RETURN_VOID();
}
