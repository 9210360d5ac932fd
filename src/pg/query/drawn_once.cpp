#include "pg/query/drawn_once.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/supportnodes.h"
}

namespace dp_counter::pg {
namespace {

constexpr const char* kManyTimes = "one call of %s would be evaluated more than once";

/// What a walk looks for.
struct Search {
    const Query* query;
    Oid function;
    bool is_inlined = false; ///< functions that contain the call have been inlined
};

/// The calls of a function in an expression. Subqueries are queries of their own.
struct Calls {
    Oid function;
    bool in_aggregates; ///< those among the arguments of aggregates, too
    List* found;
};

[[noreturn]] void refuse(const Search* search, const char* message, const char* hint) {
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg(message, get_func_name(search->function)), errhint("%s", hint)));
}

bool collect_calls(Node* node, void* context) {
    auto* calls = static_cast<Calls*>(context);
    if (node == nullptr || IsA(node, Query) || (IsA(node, Aggref) && !calls->in_aggregates))
        return false;
    if ((IsA(node, FuncExpr) &&
         reinterpret_cast<const FuncExpr*>(node)->funcid == calls->function) ||
        (IsA(node, WindowFunc) &&
         reinterpret_cast<const WindowFunc*>(node)->winfnoid == calls->function))
        calls->found = lappend(calls->found, node);
    return expression_tree_walker(node, tree_walker(collect_calls), context);
}

List* calls_in(Node* node, Oid function, bool in_aggregates) {
    Calls calls{function, in_aggregates, NIL};
    (void)collect_calls(node, &calls);
    return calls.found;
}

/// The place of a condition in the text, -1 if it is not known.
int place(const Node* node) {
    if (IsA(node, OpExpr) && reinterpret_cast<const OpExpr*>(node)->opresulttype == BOOLOID)
        return reinterpret_cast<const OpExpr*>(node)->location;
    if (IsA(node, ScalarArrayOpExpr))
        return reinterpret_cast<const ScalarArrayOpExpr*>(node)->location;
    return IsA(node, BoolExpr) ? reinterpret_cast<const BoolExpr*>(node)->location : -1;
}

/// Whether the node compares an expression, with a call in it, with each row of a subquery.
bool compares_with_rows(Node* node, Oid function) {
    if (!IsA(node, SubLink))
        return false;
    const auto* link = reinterpret_cast<const SubLink*>(node);
    return calls_in(link->testexpr, function, true) != NIL;
}

/// What the parser makes of BETWEEN, IN and comparisons of rows: AND or OR of operators in one
/// place of the text, with equal operands. Two calls of a function that is inlined are in one
/// place, too, but equal. And comparisons with the rows of a subquery.
bool find_copy(Node* node, void* context) {
    const auto* search = static_cast<Search*>(context);
    if (node == nullptr || IsA(node, Query))
        return false;
    if (compares_with_rows(node, search->function))
        refuse(search, "one call of %s would be drawn for every row of a subquery",
               "Call the function in a subquery of its own and compare its column.");
    List* terms = IsA(node, BoolExpr) ? reinterpret_cast<BoolExpr*>(node)->args
                  : IsA(node, List)   ? reinterpret_cast<List*>(node) // as the planner writes AND
                                      : NIL;
    for (int i = 1; i < list_length(terms); ++i) {
        auto* one = static_cast<Node*>(list_nth(terms, i - 1));
        auto* next = static_cast<Node*>(list_nth(terms, i));
        if (place(one) >= 0 && place(one) == place(next) &&
            !(search->is_inlined && equal(one, next)) &&
            list_intersection(calls_in(one, search->function, true),
                              calls_in(next, search->function, true)) != NIL)
            refuse(search, kManyTimes,
                   "BETWEEN, IN and row comparisons evaluate their operand more than once, with "
                   "fresh noise each time. Call the function in a subquery and compare its column, "
                   "or write = ANY (ARRAY[...]) instead of IN.");
    }
    return expression_tree_walker(node, tree_walker(find_copy), context);
}

/// An aggregate over a frame that grows reads each row once; other window functions may read a row
/// any number of times.
bool reads_each_row_once(const WindowFunc* call, const Query* query) {
    const ListCell* cell = nullptr;
    foreach (cell, query->windowClause) {
        const auto* window = lfirst_node(WindowClause, cell);
        if (window->winref == call->winref)
            return call->winagg &&
                   (window->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING) != 0 &&
                   (window->frameOptions & FRAMEOPTION_EXCLUSION) == 0;
    }
    return false;
}

bool find_window(Node* node, void* context) {
    const auto* search = static_cast<Search*>(context);
    if (node == nullptr || IsA(node, Query))
        return false;
    if (IsA(node, WindowFunc) &&
        !reads_each_row_once(reinterpret_cast<const WindowFunc*>(node), search->query) &&
        calls_in(node, search->function, false) != NIL) // aggregates are computed below
        refuse(
            search, "%s in an argument of this window function is not supported",
            "The window function may evaluate its arguments more than once, with fresh noise each "
            "time. Call the private function in a subquery and the window function above it.");
    return expression_tree_walker(node, tree_walker(find_window), context);
}

/// Searches a query with GROUPING SETS, which may read its rows once for each of them.
bool find_in_aggregate(Node* node, void* context) {
    const auto* search = static_cast<Search*>(context);
    if (node == nullptr || IsA(node, Query))
        return false;
    if (IsA(node, Aggref) && calls_in(node, search->function, true) != NIL)
        refuse(search, "%s in an argument of an aggregate with GROUPING SETS is not supported",
               "It may be evaluated again for each grouping set. Call it in a subquery.");
    return expression_tree_walker(node, tree_walker(find_in_aggregate), context);
}

/// Searches a target list with a set-returning function. Such a function evaluates its own
/// arguments once, unless they contain another one; aggregates and windows are computed below.
bool find_beside_set(Node* node, void* context) {
    const auto* search = static_cast<Search*>(context);
    if (node == nullptr || IsA(node, Query) || IsA(node, Aggref) || IsA(node, WindowFunc))
        return false;
    List* arguments = nullptr;
    if (IsA(node, FuncExpr)) {
        const auto* call = reinterpret_cast<const FuncExpr*>(node);
        if (call->funcid == search->function)
            refuse(search, "%s beside a set-returning function is not supported",
                   "It would draw fresh noise for every row of the set. Call it in a subquery, or "
                   "move the set-returning function to FROM.");
        if (call->funcretset)
            arguments = call->args;
    } else if (IsA(node, OpExpr) && reinterpret_cast<const OpExpr*>(node)->opretset) {
        arguments = reinterpret_cast<const OpExpr*>(node)->args;
    }
    if (arguments != nullptr && !expression_returns_set(reinterpret_cast<Node*>(arguments)))
        return false;
    return expression_tree_walker(node, tree_walker(find_beside_set), context);
}

} // namespace

void check_not_copied(const Query* query, Oid function, bool is_inlined) {
    Search search{query, function, is_inlined};
    (void)query_tree_walker(const_cast<Query*>(query), tree_walker(find_copy), &search,
                            QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES |
                                QTW_IGNORE_JOINALIASES);
}

void check_has_no_copy(const Query* query, const WindowFunc* call) {
    // A copy keeps the location of the call, whatever the planner has simplified around it. Two
    // calls that were written have two: PostgreSQL inlines no function that has windows.
    int found = 0;
    const ListCell* cell = nullptr;
    foreach (cell, calls_in(reinterpret_cast<Node*>(query->targetList), call->winfnoid, true))
        found += lfirst_node(WindowFunc, cell)->location == call->location ? 1 : 0;
    if (call->location < 0 || found < 2)
        return;
    const Search search{query, call->winfnoid};
    refuse(&search, kManyTimes,
           "What stands around it repeats it, such as IN, BETWEEN or (function(...)).*, with fresh "
           "noise each time. Call it in a subquery and use its column.");
}

void check_not_repeated(const Query* query, Oid function) {
    Search search{query, function};
    auto* columns = reinterpret_cast<Node*>(query->targetList);
    (void)find_window(columns, &search);
    if (query->groupingSets != NIL) {
        (void)find_in_aggregate(columns, &search);
        (void)find_in_aggregate(query->havingQual, &search);
    }
    if (query->hasTargetSRFs)
        (void)find_beside_set(columns, &search);
}

/// Planner support function of dp_laplace. The planner asks for a simpler call before it copies or
/// inlines anything, and for the cost after it has inlined functions that contain a call.
DP_FUNCTION(dp_laplace_support) {
    CHECK_FOR_INTERRUPTS(); // the whole query is searched for each of its calls
    auto* question = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
    if (IsA(question, SupportRequestSimplify)) {
        const auto* request = reinterpret_cast<const SupportRequestSimplify*>(question);
        if (request->root != nullptr) {
            check_not_copied(request->root->parse, request->fcall->funcid);
            check_not_repeated(request->root->parse, request->fcall->funcid);
        }
    } else if (IsA(question, SupportRequestCost)) {
        const auto* request = reinterpret_cast<const SupportRequestCost*>(question);
        if (request->root != nullptr) {
            check_not_copied(request->root->parse, request->funcid, true);
            check_not_repeated(request->root->parse, request->funcid);
        }
    }
    PG_RETURN_DATUM(0);
}

} // namespace dp_counter::pg
