#include "pg/worker/strangers.hpp"

#include "pg/server/query_owners.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
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

/// May have a checkpoint made, by a statement, which fails in a worker; and what all roles may.
constexpr Oid kNobody = ROLE_PG_CHECKPOINT;

/// The query that is planned.
struct Planning {
    Oid user;
    int security;
    List* functions; ///< that the query calls
};

Planning planning{};
Oid served_owner = InvalidOid;
object_access_hook_type next_access = nullptr;
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

void become_nobody(int security) {
    SetUserIdAndSecContext(kNobody, security | SECURITY_RESTRICTED_OPERATION);
}

/// Whether it is a function of the owner's query that the planner calls.
bool is_planned(Oid function) {
    return GetUserId() == kNobody && list_member_oid(planning.functions, function);
}

/// PostgreSQL asks this whenever it looks up a function that is not built in, also before it
/// inlines one, unless the function is SECURITY DEFINER or has settings. The planner looks up those
/// of a stranger's index, and need not call them.
bool needs_hook(Oid function) {
    if (GetUserId() == kNobody)
        return true;
    check_function(function);
    return is_sql(function) || (next_needs_hook != nullptr && next_needs_hook(function));
}

/// Of a call that PostgreSQL tells us of.
struct Call {
    int depth;  ///< that of the calls in it, from the one on that is_planned
    Datum next; ///< of the next hook
};

/// PostgreSQL calls this before and after it runs one that is or has, or needs it.
void around_function(FmgrHookEventType event, FmgrInfo* function, Datum* argument) {
    auto* call = reinterpret_cast<Call*>(DatumGetPointer(*argument));
    if (call == nullptr) {
        call = static_cast<Call*>(MemoryContextAllocZero(function->fn_mcxt, sizeof(Call)));
        *argument = PointerGetDatum(call);
    }
    if (event == FHET_START) {
        check_function(function->fn_oid);
        if ((call->depth > 0 || is_planned(function->fn_oid)) && ++call->depth == 1)
            SetUserIdAndSecContext(planning.user, planning.security);
    } else if (call->depth > 0 && --call->depth == 0) {
        become_nobody(planning.security);
    }
    if (next_hook != nullptr)
        next_hook(event, function, &call->next);
}

extern "C" {
/// PostgreSQL calls this before it sets what the function has of settings.
static void look_at_access(ObjectAccessType access, Oid catalog, Oid object, int part,
                           void* argument) {
    if (access == OAT_FUNCTION_EXECUTE)
        check_function(object);
    if (next_access != nullptr)
        next_access(access, catalog, object, part, argument);
}
}

// --- queries

/// Where the planner has it: as a partition that was attached meanwhile, too. A stranger's partial
/// indexes are taken away, as scans evaluate their predicates.
void check_relation(Oid table, RelOptInfo* relation) {
    if (table < FirstNormalObjectId)
        return;
    const StrangersParts parts = strangers_parts(table, served_owner);
    check_part(parts.evaluated);
    if (!parts.has_tables)
        return;
    ListCell* cell = nullptr;
    foreach (cell, relation->indexlist)
        if (lfirst_node(IndexOptInfo, cell)->indpred != NIL)
            relation->indexlist = foreach_delete_current(relation->indexlist, cell);
}

/// A walker: privileges, which for views the planner checks, and statistics are those of the user.
bool keep_user(Node* node, void* user) {
    if (node == nullptr)
        return false;
    const auto keep = [&](Oid& checked) {
        if (!OidIsValid(checked))
            checked = *static_cast<const Oid*>(user);
    };
    if (IsA(node, RangeTblEntry)) { // what is in it comes next
#if PG_VERSION_NUM < 160000
        keep(reinterpret_cast<RangeTblEntry*>(node)->checkAsUser);
#endif
        return false;
    }
    if (!IsA(node, Query))
        return expression_tree_walker(node, tree_walker(keep_user), user);
    auto* query = reinterpret_cast<Query*>(node);
#if PG_VERSION_NUM >= 160000
    const ListCell* cell = nullptr;
    foreach (cell, query->rteperminfos)
        keep(lfirst_node(RTEPermissionInfo, cell)->checkAsUser);
#endif
    return query_tree_walker(query, tree_walker(keep_user), user, QTW_EXAMINE_RTES_BEFORE);
}

/// An error brings the user back, as the transaction or the subtransaction ends.
template <class Plan>
PlannedStmt* planned(Query* query, const Plan& plan) {
    const StrangersParts parts = strangers_parts(reinterpret_cast<Node*>(query), served_owner);
    check_part(parts.evaluated);
    Planning now{InvalidOid, 0, parts.functions};
    GetUserIdAndSecContext(&now.user, &now.security);
    if (parts.has_tables) {
        (void)keep_user(reinterpret_cast<Node*>(query), &now.user);
        become_nobody(now.security);
    }
    const Planning around = planning;
    planning = now;
    PlannedStmt* result = nullptr;
    PG_TRY();
    { result = plan(); }
    PG_CATCH();
    {
        planning = around; // for whoever catches it
        PG_RE_THROW();
    }
    PG_END_TRY();
    planning = around;
    SetUserIdAndSecContext(now.user, now.security);
    // A plan that was made as nobody has constants that nobody has computed.
    result->dependsOnRole |= parts.has_tables || now.user == kNobody;
    return result;
}

extern "C" {
#if PG_VERSION_NUM >= 190000
static PlannedStmt* plan_query(Query* query, const char* text, int options, ParamListInfo bound,
                               ExplainState* explain) {
    return planned(query, [&] {
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
    return planned(query, [&] {
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
}

} // namespace

void refuse_strangers(Oid owner) {
    served_owner = owner;
    next_needs_hook = needs_fmgr_hook;
    needs_fmgr_hook = needs_hook;
    next_hook = fmgr_hook;
    fmgr_hook = around_function;
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
