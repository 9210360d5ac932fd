// What an owner does with a running counter: dp_counter_end, dp_counter_resume,
// dp_counter_add_groups and dp_counter_drop_groups.
#include "pg/budgets/budgets.hpp"
#include "pg/events/events_table.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/place.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/change_groups.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
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

/// Locks one over a source against all others, in the order of a tick.
OpenCounter open_source_counter(Oid view) {
    lock_source_of(view);
    return require_running(lock_own_counter(view, AccessExclusiveLock));
}

/// All steps that it has closed must be visible: no later tick publishes them.
void check_released(const OpenCounter& counter) {
    if (counter.row.steps == 0)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("counter \"%s\" has released nothing", name_of_relation(counter.view)),
                 errhint("Use dp_counter_drop to drop it.")));
    check_published(counter.view, counter.row.number, counter.row.steps);
}

/// Whether it has ended for another one to continue it, which was dropped.
bool can_be_continued(const OpenCounter& counter) {
    return counter.row.has_ended && counter.declared && has_tally_key(*counter.declared);
}

} // namespace

/// It counts nothing else, and keeps its releases.
DP_FUNCTION(dp_counter_end) {
    const Oid view = read_own_counter(fcinfo, "dp_counter_end()");
    const auto found = lock_own_counter(view, AccessExclusiveLock);
    const std::int64_t number = require_counter(found).row.number;
    if (can_be_continued(*found)) {
        forget_tallies(number);
        PG_RETURN_VOID();
    }
    check_released(require_running(found));
    delete_streams(number);
    if (found->declared)
        end_source_counter(*found);
    else
        drop_event_slots(number);
    mark_counter_ended(number);
    check_owner(view); // it may have changed while the end waited for the budget
    PG_RETURN_VOID();
}

/// It goes on in a copy of its database.
DP_FUNCTION(dp_counter_resume) {
    const Oid view = read_own_counter(fcinfo, "dp_counter_resume()");
    const auto found = lock_own_counter(view, AccessShareLock);
    const OpenCounter counter =
        can_be_continued(require_counter(found)) ? *found : require_running(found);
    check_has_tallies(counter);
    if (!is_here(counter.row.place))
        book_resumption(counter.row.number, quoted_name(view));
    move_counter_here(counter.row.number);
    check_owner(view); // it may have changed while the call waited for the budget
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_counter_add_groups) {
    const Oid view = read_own_counter(fcinfo, "dp_counter_add_groups()");
    const WrittenGroups added =
        read_written_groups(fcinfo->args[1], fcinfo->args[2], fcinfo->args[3]);
    check_not_null(added.array, "groups", "Name the groups to add.");
    add_groups(open_source_counter(view), added);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_counter_drop_groups) {
    const Oid view = read_own_counter(fcinfo, "dp_counter_drop_groups()");
    check_not_null(fcinfo->args[1], "groups", "Name the groups to drop.");
    drop_groups(open_source_counter(view), DatumGetArrayTypeP(fcinfo->args[1].value));
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
