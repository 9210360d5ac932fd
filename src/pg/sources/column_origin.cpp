#include <cstring>

#include "pg/sources/column_origin.hpp"

#include "pg/server/tree_walker.hpp"
#include "pg/sources/accepted_functions.hpp"

extern "C" {
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/regproc.h"
}

namespace dp_counter::pg {

namespace {

/// A query within others, whose columns an expression in it may name.
struct Scope {
    const Query* query;
    const Scope* outer;
};

/// A column that was traced, or is being: layers of a view may name one below them many times.
struct Traced {
    const Query* query;
    AttrNumber column;
};

struct Trace {
    const Scope* scope;
    const char* reason;
    List* traced;
};

/// Whether this column comes for the first time. A trace ends at the first that varies, so one that
/// comes again does not.
bool is_new(Trace* trace, const Query* query, AttrNumber column) {
    ListCell* cell = nullptr;
    foreach (cell, trace->traced) {
        const auto* traced = static_cast<const Traced*>(lfirst(cell));
        if (traced->query == query && traced->column == column)
            return false;
    }
    auto* traced = static_cast<Traced*>(palloc(sizeof(Traced)));
    *traced = {query, column};
    trace->traced = lappend(trace->traced, traced);
    return true;
}

bool varies(Node* node, void* context);

const Scope* up(const Scope* scope, Index levels) {
    return levels == 0 ? scope : up(scope->outer, levels - 1);
}

/// Whether `node`, which is in `scope`, varies.
bool varies_in(const void* node, const Scope* scope, Trace* trace) {
    const Scope* inner = trace->scope;
    trace->scope = scope;
    const bool does = varies(static_cast<Node*>(const_cast<void*>(node)), trace);
    trace->scope = inner;
    return does;
}

/// Whether a column of a query in `outer` varies; of a set operation, in any of the queries below.
bool column_varies(const Query* query, AttrNumber column, const Scope* outer, Trace* trace) {
    check_stack_depth();
    CHECK_FOR_INTERRUPTS();
    if (!is_new(trace, query, column))
        return false;
    const Scope scope{query, outer};
    if (query->setOperations == nullptr)
        return varies_in(get_tle_by_resno(query->targetList, column)->expr, &scope, trace);
    ListCell* cell = nullptr;
    foreach (cell, query->rtable) {
        const auto* entry = static_cast<const RangeTblEntry*>(lfirst(cell));
        if (entry->rtekind == RTE_SUBQUERY && column_varies(entry->subquery, column, &scope, trace))
            return true;
    }
    return false;
}

bool column_of_cte_varies(const RangeTblEntry* entry, AttrNumber column, const Scope* scope,
                          Trace* trace) {
    const Scope* owner = up(scope, entry->ctelevelsup);
    ListCell* cell = nullptr;
    foreach (cell, entry->self_reference ? NIL : owner->query->cteList) {
        const auto* cte = static_cast<const CommonTableExpr*>(lfirst(cell));
        if (std::strcmp(cte->ctename, entry->ctename) == 0)
            return column_varies(reinterpret_cast<const Query*>(cte->ctequery), column, owner,
                                 trace);
    }
    return false;
}

bool column_of_values_varies(const RangeTblEntry* entry, AttrNumber column, const Scope* scope,
                             Trace* trace) {
    ListCell* cell = nullptr;
    foreach (cell, entry->values_lists)
        if (varies_in(list_nth(static_cast<const List*>(lfirst(cell)), column - 1), scope, trace))
            return true;
    return false;
}

bool origin_varies(const Var* column, Trace* trace) {
    const Scope* scope = up(trace->scope, column->varlevelsup);
    const RangeTblEntry* entry = rt_fetch(column->varno, scope->query->rtable);
    const AttrNumber number = column->varattno;
    switch (entry->rtekind) {
    case RTE_SUBQUERY:
        return column_varies(entry->subquery, number, scope, trace);
    case RTE_CTE:
        return column_of_cte_varies(entry, number, scope, trace);
    case RTE_JOIN:
        return varies_in(list_nth(entry->joinaliasvars, number - 1), scope, trace);
    case RTE_VALUES:
        return column_of_values_varies(entry, number, scope, trace);
    case RTE_FUNCTION:
        return varies_in(entry->functions, scope, trace);
    case RTE_TABLEFUNC:
        return varies_in(entry->tablefunc, scope, trace);
#if PG_VERSION_NUM >= 180000
    case RTE_GROUP:
        return varies_in(list_nth(entry->groupexprs, number - 1), scope, trace);
#endif
    default:
        return false; // a table's own
    }
}

/// Why the node itself is not immutable; null if it is.
const char* why_node_varies(Node* node) {
    if (IsA(node, SQLValueFunction))
        return "the time";
#if PG_VERSION_NUM >= 170000
    if (IsA(node, JsonExpr))
        return "SQL/JSON";
#endif
    const Oid function = unaccepted_function(node, Strictness::immutable);
    return OidIsValid(function) ? format_procedure(function) : nullptr;
}

bool varies(Node* node, void* context) {
    auto* trace = static_cast<Trace*>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Query)) { // a subquery in the expression: with all that is in it
        const Scope scope{reinterpret_cast<const Query*>(node), trace->scope};
        const Scope* outer = trace->scope;
        trace->scope = &scope;
        const bool does =
            query_tree_walker(reinterpret_cast<Query*>(node), tree_walker(varies), trace, 0);
        trace->scope = outer;
        return does;
    }
    if (IsA(node, Var))
        return origin_varies(reinterpret_cast<const Var*>(node), trace);
    trace->reason = why_node_varies(node);
    return trace->reason != nullptr || expression_tree_walker(node, tree_walker(varies), context);
}

} // namespace

const char* why_not_immutable(const Query* query, AttrNumber column) {
    Trace trace{nullptr, nullptr, NIL};
    if (!column_varies(query, column, nullptr, &trace))
        return nullptr;
    return psprintf("Column \"%s\" depends on %s, which is not immutable. The columns of the "
                    "person and the time must be immutable.",
                    get_tle_by_resno(query->targetList, column)->resname, trace.reason);
}

} // namespace dp_counter::pg
