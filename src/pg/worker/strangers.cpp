#include "pg/worker/strangers.hpp"

#include "pg/server/query_owners.hpp"
#include "pg/server/relations.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
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
needs_fmgr_hook_type next_needs_hook = nullptr;
fmgr_hook_type next_hook = nullptr;
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

void look_at_query(Query* query) {
    check_part(strangers_part(reinterpret_cast<Node*>(query), served_owner));
}

extern "C" {
#if PG_VERSION_NUM >= 190000
static PlannedStmt* plan_query(Query* query, const char* text, int options, ParamListInfo bound,
                               ExplainState* explain) {
    look_at_query(query);
    return (next_planner != nullptr ? next_planner : standard_planner)(query, text, options, bound,
                                                                       explain);
}

static void look_at_relation(PlannerInfo* root, RelOptInfo* relation, RangeTblEntry* entry) {
    if (entry->rtekind == RTE_RELATION)
        check_relation(entry->relid, relation);
    if (next_relation != nullptr)
        next_relation(root, relation, entry);
}
#else
static PlannedStmt* plan_query(Query* query, const char* text, int options, ParamListInfo bound) {
    look_at_query(query);
    return (next_planner != nullptr ? next_planner : standard_planner)(query, text, options, bound);
}

static void look_at_relation(PlannerInfo* root, Oid table, bool is_parent, RelOptInfo* relation) {
    check_relation(table, relation);
    if (next_relation != nullptr)
        next_relation(root, table, is_parent, relation);
}
#endif
}

} // namespace

void refuse_strangers(Oid owner) {
    served_owner = owner;
    next_needs_hook = needs_fmgr_hook;
    needs_fmgr_hook = needs_hook;
    next_hook = fmgr_hook;
    fmgr_hook = before_function;
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
