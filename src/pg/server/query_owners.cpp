#include "pg/server/query_owners.hpp"

#include "pg/server/function_owners.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

struct Search {
    Oid owner;
    const char* part; ///< what was found
};

bool is_strangers(Oid relation, Oid owner) {
    return !has_privs_of_role(owner_of(relation), owner);
}

/// For check_functions_in_node, which stops at the first one.
bool is_strangers_function(Oid function, void* context) {
    auto* search = static_cast<Search*>(context);
    if (is_trusted_by(search->owner, function))
        return false;
    search->part = psprintf("function %s", format_procedure(function));
    return true;
}

bool is_strangers_operator(Oid number, Search* search) {
    HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(number));
    if (!HeapTupleIsValid(tuple))
        return false; // who looks it up raises
    const Oid owner = reinterpret_cast<const FormData_pg_operator*>(GETSTRUCT(tuple))->oprowner;
    ReleaseSysCache(tuple);
    if (has_privs_of_role(owner, search->owner))
        return false;
    search->part = psprintf("operator %s", format_operator(number));
    return true;
}

/// Of a comparison of rows and a sort all are of an operator class, which superusers make.
Oid operator_in(const Node* node) {
    switch (nodeTag(node)) {
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
        return reinterpret_cast<const OpExpr*>(node)->opno;
    case T_ScalarArrayOpExpr:
        return reinterpret_cast<const ScalarArrayOpExpr*>(node)->opno;
    default:
        return InvalidOid;
    }
}

bool computes_columns([[maybe_unused]] Oid relation) {
#if PG_VERSION_NUM >= 180000
    Relation table = table_open(relation, NoLock); // the query has locked it
    const TupleConstr* constraints = RelationGetDescr(table)->constr;
    const bool has_any = constraints != nullptr && constraints->has_generated_virtual;
    table_close(table, NoLock);
    return has_any;
#else
    return false;
#endif
}

/// The query of a view is there as an entry with the view's OID, or (15) has it as its OLD.
bool is_strangers_entry(const RangeTblEntry* entry, Search* search) {
    if (!OidIsValid(entry->relid) || !is_strangers(entry->relid, search->owner))
        return false;
    const char* kind = entry->relkind == RELKIND_VIEW   ? "view"
                       : entry->securityQuals != NIL    ? "a policy of table"
                       : computes_columns(entry->relid) ? "a virtual column of table"
                                                        : nullptr;
    if (kind != nullptr)
        search->part = psprintf("%s %s", kind, quoted_name(entry->relid));
    return kind != nullptr;
}

/// A walker that stops at the first one.
bool find_part(Node* node, void* context) {
    if (node == nullptr)
        return false;
    auto* search = static_cast<Search*>(context);
    if (IsA(node, RangeTblEntry)) // what is in it comes next
        return is_strangers_entry(reinterpret_cast<const RangeTblEntry*>(node), search);
    if (IsA(node, Query))
        return query_tree_walker(reinterpret_cast<Query*>(node), tree_walker(find_part), context,
                                 QTW_EXAMINE_RTES_BEFORE);
    const Oid number = operator_in(node);
    return (OidIsValid(number) && is_strangers_operator(number, search)) ||
           check_functions_in_node(node, is_strangers_function, context) ||
           expression_tree_walker(node, tree_walker(find_part), context);
}

Oid served_owner = InvalidOid;
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

/// The planner estimates how many rows a partial index has by the operators of its predicate. Asked
/// here, where it has them, no index comes in between.
void check_indexes(Oid table, const RelOptInfo* relation) {
    if (!is_strangers(table, served_owner))
        return;
    Search search{served_owner, nullptr};
    ListCell* cell = nullptr;
    foreach (cell, relation->indexlist) {
        const auto* index = lfirst_node(IndexOptInfo, cell);
        if (find_part(reinterpret_cast<Node*>(index->indpred), &search) ||
            find_part(reinterpret_cast<Node*>(index->indexprs), &search))
            check_part(search.part);
    }
}

template <class Plan>
PlannedStmt* plan(Query* query, const Plan& plan_further) {
    check_part(strangers_part(query, served_owner));
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
        check_indexes(entry->relid, relation);
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
    check_indexes(table, relation);
    if (next_relation != nullptr)
        next_relation(root, table, is_parent, relation);
}
#endif
}

} // namespace

const char* strangers_part(Query* query, Oid owner) {
    Search search{owner, nullptr};
    (void)find_part(reinterpret_cast<Node*>(query), &search);
    return search.part;
}

void refuse_texts_of_strangers(Oid owner) {
    served_owner = owner;
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
