#include <cstring>

#include "pg/vetting/column_origin.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_attribute.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
}

namespace dp_counter::pg {

namespace {

/// A query within others, whose columns an expression in it may name.
struct Scope {
    const Query* query;
    const Scope* outer;
};

/// A column of a query, or of what it reads, that was traced, or is being: layers of a view may
/// name one below them many times.
struct Traced {
    const void* of;
    AttrNumber column;
};

struct Trace {
    NodeTest test;
    const Scope* scope;
    const char* reason;
    List* traced;
};

/// Whether this column comes for the first time. A trace ends at the first that fails the test, so
/// one that comes again does not.
bool is_new(Trace* trace, const void* of, AttrNumber column) {
    CHECK_FOR_INTERRUPTS();
    ListCell* cell = nullptr;
    foreach (cell, trace->traced) {
        const auto* traced = static_cast<const Traced*>(lfirst(cell));
        if (traced->of == of && traced->column == column)
            return false;
    }
    auto* traced = static_cast<Traced*>(palloc(sizeof(Traced)));
    *traced = {of, column};
    trace->traced = lappend(trace->traced, traced);
    return true;
}

bool fails(Node* node, void* context);

const Scope* up(const Scope* scope, Index levels) {
    return levels == 0 ? scope : up(scope->outer, levels - 1);
}

/// Whether `node`, which is in `scope`, fails the test.
bool fails_in(const void* node, const Scope* scope, Trace* trace) {
    const Scope* inner = trace->scope;
    trace->scope = scope;
    const bool does = fails(static_cast<Node*>(const_cast<void*>(node)), trace);
    trace->scope = inner;
    return does;
}

/// Whether a column of a query in `outer` fails the test; of a set operation, in any of the queries
/// below.
bool column_fails(const Query* query, AttrNumber column, const Scope* outer, Trace* trace) {
    check_stack_depth();
    if (!is_new(trace, query, column))
        return false;
    const Scope scope{query, outer};
    if (query->setOperations == nullptr)
        return fails_in(get_tle_by_resno(query->targetList, column)->expr, &scope, trace);
    ListCell* cell = nullptr;
    foreach (cell, query->rtable) {
        const auto* entry = static_cast<const RangeTblEntry*>(lfirst(cell));
        if (entry->rtekind == RTE_SUBQUERY && column_fails(entry->subquery, column, &scope, trace))
            return true;
    }
    return false;
}

bool column_of_cte_fails(const RangeTblEntry* entry, AttrNumber column, const Scope* scope,
                         Trace* trace) {
    const Scope* owner = up(scope, entry->ctelevelsup);
    ListCell* cell = nullptr;
    foreach (cell, entry->self_reference ? NIL : owner->query->cteList) {
        const auto* cte = static_cast<const CommonTableExpr*>(lfirst(cell));
        if (std::strcmp(cte->ctename, entry->ctename) == 0)
            return column_fails(reinterpret_cast<const Query*>(cte->ctequery), column, owner,
                                trace);
    }
    return false;
}

bool column_of_values_fails(const RangeTblEntry* entry, AttrNumber column, const Scope* scope,
                            Trace* trace) {
    ListCell* cell = nullptr;
    foreach (cell, entry->values_lists)
        if (fails_in(list_nth(static_cast<const List*>(lfirst(cell)), column - 1), scope, trace))
            return true;
    return false;
}

/// Whether a table's own column does: a virtual one is an expression of others.
bool column_of_table_fails([[maybe_unused]] Oid table, [[maybe_unused]] AttrNumber column,
                           [[maybe_unused]] Trace* trace) {
#if PG_VERSION_NUM >= 180000
    if (column > 0 && get_attgenerated(table, column) == ATTRIBUTE_GENERATED_VIRTUAL) {
        Relation opened = table_open(table, NoLock);
        const Node* expression = build_generation_expression(opened, column);
        table_close(opened, NoLock);
        return fails_in(expression, nullptr, trace);
    }
#endif
    return false;
}

/// Whether a column of an entry of the query in `scope` does; of functions, which make all columns
/// of theirs together, whether they do.
bool column_of_entry_fails(const RangeTblEntry* entry, AttrNumber column, const Scope* scope,
                           Trace* trace) {
    const bool is_function = entry->rtekind == RTE_FUNCTION || entry->rtekind == RTE_TABLEFUNC;
    if (!is_new(trace, entry, static_cast<AttrNumber>(is_function ? 0 : column)))
        return false;
    switch (entry->rtekind) {
    case RTE_RELATION:
        return column_of_table_fails(entry->relid, column, trace);
    case RTE_SUBQUERY:
        return column_fails(entry->subquery, column, scope, trace);
    case RTE_CTE:
        return column_of_cte_fails(entry, column, scope, trace);
    case RTE_JOIN:
        return fails_in(list_nth(entry->joinaliasvars, column - 1), scope, trace);
    case RTE_VALUES:
        return column_of_values_fails(entry, column, scope, trace);
    case RTE_FUNCTION:
        return fails_in(entry->functions, scope, trace);
    case RTE_TABLEFUNC:
        return fails_in(entry->tablefunc, scope, trace);
#if PG_VERSION_NUM >= 180000
    case RTE_GROUP:
        return fails_in(list_nth(entry->groupexprs, column - 1), scope, trace);
#endif
    default:
        return false;
    }
}

/// Of a whole row all columns count.
bool origin_fails(const Var* column, Trace* trace) {
    const Scope* scope = trace->scope == nullptr ? nullptr : up(trace->scope, column->varlevelsup);
    if (scope == nullptr)
        return false; // in the expression of a virtual column
    const RangeTblEntry* entry = rt_fetch(column->varno, scope->query->rtable);
    if (column->varattno != InvalidAttrNumber)
        return column_of_entry_fails(entry, column->varattno, scope, trace);
    for (int i = 1; i <= list_length(entry->eref->colnames); ++i)
        if (column_of_entry_fails(entry, static_cast<AttrNumber>(i), scope, trace))
            return true;
    return false;
}

bool fails(Node* node, void* context) {
    auto* trace = static_cast<Trace*>(context);
    if (node == nullptr)
        return false;
    trace->reason = trace->test(node);
    if (trace->reason != nullptr || IsA(node, RangeTblEntry))
        return trace->reason != nullptr;
    if (IsA(node, Query)) { // a subquery in the expression: with all that is in it
        const Scope scope{reinterpret_cast<const Query*>(node), trace->scope};
        const Scope* outer = trace->scope;
        trace->scope = &scope;
        const bool does = query_tree_walker(reinterpret_cast<Query*>(node), tree_walker(fails),
                                            trace, QTW_EXAMINE_RTES_BEFORE | QTW_EXAMINE_SORTGROUP);
        trace->scope = outer;
        return does;
    }
    return IsA(node, Var) ? origin_fails(reinterpret_cast<const Var*>(node), trace)
                          : expression_tree_walker(node, tree_walker(fails), context);
}

/// Whether anything does that a query in `outer` evaluates whichever of its columns are read.
bool conditions_fail(const Query* query, const Scope* outer, Trace* trace) {
    check_stack_depth();
    trace->reason = trace->test(reinterpret_cast<Node*>(const_cast<Query*>(query)));
    if (trace->reason != nullptr)
        return true;
    const bool reads_all =
        query->setOperations != nullptr || query->distinctClause != NIL || query->hasTargetSRFs;
    ListCell* cell = nullptr;
    foreach (cell, query->targetList) {
        const auto* column = static_cast<const TargetEntry*>(lfirst(cell));
        if ((reads_all || column->ressortgroupref != 0) &&
            column_fails(query, column->resno, outer, trace))
            return true;
    }
    Query rest = *query;
    rest.targetList = NIL;
    const Scope scope{query, outer};
    trace->scope = &scope;
    if (query_tree_walker(&rest, tree_walker(fails), trace,
                          QTW_EXAMINE_RTES_BEFORE | QTW_EXAMINE_SORTGROUP |
                              QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_JOINALIASES |
                              QTW_DONT_COPY_QUERY))
        return true;
    foreach (cell, query->rtable) {
        const auto* entry = static_cast<const RangeTblEntry*>(lfirst(cell));
        if (entry->rtekind == RTE_SUBQUERY && conditions_fail(entry->subquery, &scope, trace))
            return true;
    }
    return false;
}

} // namespace

const char* why_not_column(const Query* query, AttrNumber column, NodeTest test) {
    Trace trace{test, nullptr, nullptr, NIL};
    return column_fails(query, column, nullptr, &trace) ? trace.reason : nullptr;
}

const char* why_not_conditions(const Query* query, const List* columns, NodeTest test) {
    Trace trace{test, nullptr, nullptr, NIL};
    ListCell* cell = nullptr;
    foreach (cell, columns)
        (void)is_new(&trace, query, static_cast<AttrNumber>(lfirst_int(cell)));
    return conditions_fail(query, nullptr, &trace) ? trace.reason : nullptr;
}

} // namespace dp_counter::pg
