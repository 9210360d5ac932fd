#include <cstring>
#include <initializer_list>

#include "pg/worker/strangers.hpp"

#include "pg/server/query_owners.hpp"
#include "pg/server/relations.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

Oid served_owner = InvalidOid;
bool is_planning = false;
needs_fmgr_hook_type next_needs_hook = nullptr;
fmgr_hook_type next_hook = nullptr;
object_access_hook_type next_access = nullptr;
planner_hook_type next_planner = nullptr;
#if PG_VERSION_NUM >= 190000
build_simple_rel_hook_type next_relation = nullptr;
#else
get_relation_info_hook_type next_relation = nullptr;
#endif

void check_part(const char* part) {
    if (part != nullptr)
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("%s belongs to another role than the source", part),
                        errdetail("It would run in the session of the source's owner.")));
}

// --- functions

void check_function(Oid function) {
    if (!is_trusted_by(served_owner, function))
        check_part(psprintf("function %s", format_procedure(function)));
}

bool is_sql(Oid function) {
    if (function < FirstNormalObjectId)
        return false;
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const Oid language = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->prolang;
    ReleaseSysCache(tuple);
    return language == SQLlanguageId;
}

/// PostgreSQL asks this whenever it looks up a function that is not built in, also before it
/// inlines one, unless the function is SECURITY DEFINER or has settings.
bool needs_hook(Oid function) {
    check_function(function);
    return is_sql(function) || (next_needs_hook != nullptr && next_needs_hook(function));
}

/// PostgreSQL calls this before it runs one that is or has.
void before_function(FmgrHookEventType event, FmgrInfo* function, Datum* argument) {
    if (event == FHET_START)
        check_function(function->fn_oid);
    if (next_hook != nullptr)
        next_hook(event, function, argument);
}

// --- queries

/// The planner estimates by the operators of an index's predicate how many rows it has.
void check_relation(Oid table, const RelOptInfo* relation) {
    if (has_privs_of_role(owner_of(table), served_owner))
        return;
    if (OidIsValid(relation->serverid))
        check_part(psprintf("foreign table %s", quoted_name(table)));
    ListCell* cell = nullptr;
    foreach (cell, relation->indexlist) {
        const auto* index = lfirst_node(IndexOptInfo, cell);
        check_part(strangers_part(reinterpret_cast<Node*>(index->indpred), served_owner));
        check_part(strangers_part(reinterpret_cast<Node*>(index->indexprs), served_owner));
    }
}

template <class Plan>
PlannedStmt* plan(Query* query, const Plan& plan_further) {
    check_part(strangers_part(reinterpret_cast<Node*>(query), served_owner));
    const bool was_planning = is_planning;
    PlannedStmt* statement = nullptr;
    is_planning = true;
    PG_TRY();
    { statement = plan_further(); }
    PG_CATCH(); // not PG_FINALLY: GCC warns of its variable
    {
        is_planning = was_planning;
        PG_RE_THROW();
    }
    PG_END_TRY();
    is_planning = was_planning;
    return statement;
}

// --- what does more than read

/// Of the VOLATILE functions of PostgreSQL and of extensions. The others run texts as queries, read
/// files, tell other sessions or change the server: what a stranger's text would call if it ran.
/// Those of roles are the owner's, who has rights over them.
bool is_harmless(Oid function) {
    if (function >= FirstNormalObjectId &&
        !OidIsValid(getExtensionOfObject(ProcedureRelationId, function)))
        return true;
    const char* name = get_func_name(function);
    for (const char* harmless :
         {"clock_timestamp", "current_query", "gen_random_uuid", "pg_lock_status", "pg_sleep",
          "pg_stat_clear_snapshot", "random", "timeofday", "uuidv"})
        if (name != nullptr && std::strncmp(name, harmless, std::strlen(harmless)) == 0)
            return true;
    return false;
}

/// While a query is planned nothing that is VOLATILE is harmless: what was looked at could change.
bool does_more_than_read(Oid function) {
    const bool is_evaluating = XactReadOnly; // as_owner (settings.hpp)
    if (func_volatile(function) == PROVOLATILE_VOLATILE)
        return is_planning || (is_evaluating && !is_harmless(function));
    return is_evaluating && reads_by_name(function);
}

extern "C" {
#if PG_VERSION_NUM >= 190000
static PlannedStmt* plan_query(Query* query, const char* text, int options, ParamListInfo bound,
                               ExplainState* explain) {
    return plan(query, [=] {
        return (next_planner != nullptr ? next_planner : standard_planner)(query, text, options,
                                                                           bound, explain);
    });
}

static void look_at_relation(PlannerInfo* root, RelOptInfo* relation, RangeTblEntry* entry) {
    if (entry->rtekind == RTE_RELATION)
        check_relation(entry->relid, relation);
    if (next_relation != nullptr)
        next_relation(root, relation, entry);
}
#else
static PlannedStmt* plan_query(Query* query, const char* text, int options, ParamListInfo bound) {
    return plan(query, [=] {
        return (next_planner != nullptr ? next_planner : standard_planner)(query, text, options,
                                                                           bound);
    });
}

static void look_at_relation(PlannerInfo* root, Oid table, bool is_parent, RelOptInfo* relation) {
    check_relation(table, relation);
    if (next_relation != nullptr)
        next_relation(root, table, is_parent, relation);
}
#endif

static void look_at_access(ObjectAccessType access, Oid catalog, Oid object, int part,
                           void* argument) {
    if (access == OAT_FUNCTION_EXECUTE && does_more_than_read(object))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("function %s cannot be called while a source is %s",
                               format_procedure(object), is_planning ? "planned" : "read")));
    if (next_access != nullptr)
        next_access(access, catalog, object, part, argument);
}
}

} // namespace

void refuse_strangers(Oid owner) {
    served_owner = owner;
    next_needs_hook = needs_fmgr_hook;
    needs_fmgr_hook = needs_hook;
    next_hook = fmgr_hook;
    fmgr_hook = before_function;
    next_access = object_access_hook;
    object_access_hook = look_at_access;
    next_planner = planner_hook;
    planner_hook = plan_query;
#if PG_VERSION_NUM >= 190000
    next_relation = build_simple_rel_hook;
    build_simple_rel_hook = look_at_relation;
#else
    next_relation = get_relation_info_hook;
    get_relation_info_hook = look_at_relation;
#endif
}

} // namespace dp_counter::pg
