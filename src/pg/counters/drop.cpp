// Drops counters: dp_counter_drop, and the event trigger for DROP VIEW of a counter or a budget.
#include <initializer_list>

#include "pg/counters/drop.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/drop_budgets.hpp"
#include "pg/events/events_table.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "executor/spi.h"
#include "storage/lmgr.h"
}

namespace dp_counter::pg {
namespace {

/// `name` is its last one, qualified.
void remove(Oid view, const char* name) {
    const auto counter = lock_counter(view);
    if (!counter)
        return; // it is none, or another session has dropped it
    const std::int64_t number = counter->row.number;
    const auto delete_rows = [&](std::initializer_list<SecretTable> tables) {
        for (const SecretTable& table : tables)
            delete_secret_rows(table, {number_key(number)});
    };
    // What takes long comes before the lock on the budget.
    delete_rows({kReleasesTable, kPublications, kStreams, kGroupNames});
    if (counter->declared)
        drop_source_counter(*counter, name);
    else
        drop_event_slots(number);
    delete_rows({kSourceCounters, kCounters});
}

void check_may_drop(Oid counter) {
    if (!may_take_back(counter))
        check_counter_owner(counter);
}

/// Whether the command drops nothing that depends on what it names.
bool is_restricted(const Node* command) {
    if (IsA(command, DropOwnedStmt))
        return reinterpret_cast<const DropOwnedStmt*>(command)->behavior == DROP_RESTRICT;
    return IsA(command, DropStmt) &&
           reinterpret_cast<const DropStmt*>(command)->behavior == DROP_RESTRICT;
}

/// Forgets a source that was dropped. Its counters stay, without one; unless it was to be dropped
/// only if nothing depends on it.
void remove_source(const DroppedView& source, bool is_restricted) {
    if (!delete_source(source.view))
        return;
    const List* counters = counters_of_source(source.view);
    if (is_restricted && counters != NIL)
        ereport(ERROR,
                (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                 errmsg("cannot drop source %s because counters depend on it", source.name),
                 errdetail("Counter %s depends on it.", quoted_name(linitial_oid(counters))),
                 errhint("Drop the counters first, or end them (dp_counter_end) to keep their "
                         "releases. DROP ... CASCADE keeps them too, and they close no further "
                         "step.")));
    forget_source(source.view);
}

/// The views (DroppedView*) that the statement dropped, in SPI's memory.
List* dropped_views() {
    // All names are qualified: the role that drops may have any search path.
    const int result = SPI_execute("SELECT objid, object_identity FROM "
                                   "pg_catalog.pg_event_trigger_dropped_objects() "
                                   "WHERE object_type OPERATOR(pg_catalog.=) 'view'",
                                   true, 0);
    if (result != SPI_OK_SELECT)
        elog(ERROR, "could not read the dropped objects: %s", SPI_result_code_string(result));
    List* views = NIL;
    for (uint64 i = 0; i < SPI_tuptable->numvals; ++i) {
        HeapTuple row = SPI_tuptable->vals[i];
        TupleDesc columns = SPI_tuptable->tupdesc;
        bool is_null = false;
        auto* view = static_cast<DroppedView*>(palloc(sizeof(DroppedView)));
        *view = {DatumGetObjectId(SPI_getbinval(row, columns, 1, &is_null)),
                 SPI_getvalue(row, columns, 2)};
        views = lappend(views, view);
    }
    return views;
}

/// The counters among these views (DroppedView*), and those whose tallies they have not taken over:
/// before the budgets, and a later one first.
void lock_counters_of(const List* dropped) {
    List* numbers = NIL;
    const ListCell* cell = nullptr;
    foreach (cell, dropped) {
        const auto found = find_counter(static_cast<const DroppedView*>(lfirst(cell))->view);
        if (found)
            numbers = lappend_number(numbers, found->row.number);
        if (found && found->declared)
            numbers = lappend_number(numbers, number_of_tallies(*found));
    }
    sort_numbers(numbers);
    for (int i = list_length(numbers) - 1; i >= 0; --i)
        lock_number(kCounters, number_at(list_nth_cell(numbers, i)));
}

} // namespace

void drop_counter(Oid counter) {
    LockRelationOid(counter, AccessExclusiveLock);
    const bool is_own = is_owner(counter);
    const Oid budget = is_own ? InvalidOid : budget_of_counter(number_of_counter(counter));
    DroppedView view{counter, quoted_name(counter)};
    lock_counters_of(list_make1(&view));
    remove(view.view, view.name); // the event trigger does it too, unless disabled
    if (is_own)                   // both may have changed while it waited
        check_owner(counter);
    else
        check_owner_or_privilege(budget, ACL_INSERT);
    drop_view(counter);
}

DP_FUNCTION(dp_counter_drop) {
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_drop()");
    check_may_drop(counter); // before the lock, so that nobody else can make others wait
    LockRelationOid(counter, AccessExclusiveLock);
    check_may_drop(counter);
    drop_counter(counter);
    PG_RETURN_VOID();
}

/// Event trigger on sql_drop. It runs at every DROP in the database, by any role.
DP_FUNCTION(dp_counter_dropped) {
    const Node* command = command_of_event(fcinfo, "dp_counter_dropped");
    SPI_connect();
    const List* dropped = dropped_views();
    lock_counters_of(dropped);
    lock_budgets_of(dropped);
    const ListCell* cell = nullptr;
    foreach (cell, dropped) {
        const auto* view = static_cast<const DroppedView*>(lfirst(cell));
        remove(view->view, view->name);
    }
    const bool restricted = is_restricted(command);
    foreach (cell, dropped)
        remove_source(*static_cast<const DroppedView*>(lfirst(cell)), restricted);
    delete_unspent_budgets(dropped); // after the counters, some of which refund their charge
    SPI_finish();
    PG_RETURN_NULL();
}

} // namespace dp_counter::pg
