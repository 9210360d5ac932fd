#include "pg/vetting/view_calls.hpp"

#include "pg/server/query_owners.hpp"
#include "pg/server/tree_walker.hpp"
#include "pg/vetting/column_origin.hpp"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/regproc.h"
}

namespace dp_counter::pg {

namespace {

/// For check_functions_in_node, which stops at the first one.
bool is_refused(Oid function, void* context) {
    const char* reason = func_volatile(function) == PROVOLATILE_VOLATILE ? "is volatile"
                         : reads_by_name(function)                       ? "reads by name"
                                                                         : nullptr;
    if (reason != nullptr)
        *static_cast<const char**>(context) =
            psprintf("It calls %s, which %s.", format_procedure(function), reason);
    return reason != nullptr;
}

bool is_mutable(Oid function, void* found) {
    *static_cast<Oid*>(found) = function;
    return func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/// A walker that stops, with the reason, at the first call or lock of rows that is refused.
bool find_call(Node* node, void* context) {
    if (node == nullptr)
        return false;
    if (check_functions_in_node(node, is_refused, context))
        return true;
    if (!IsA(node, Query))
        return expression_tree_walker(node, tree_walker(find_call), context);
    auto* query = reinterpret_cast<Query*>(node);
    if (query->rowMarks == NIL)
        return query_tree_walker(query, tree_walker(find_call), context, 0);
    *static_cast<const char**>(context) = "It has FOR UPDATE or the like, which writes.";
    return true;
}

/// Whether the node makes text of values of PostgreSQL's own types whose output functions are
/// immutable. Functions that do are stable, since others' need not be.
bool makes_fixed_text(const Node* node) {
    const auto [function, arguments] = call_in(node);
    if (function != F_TEXTANYCAT && function != F_ANYTEXTCAT && function != F_CONCAT &&
        function != F_CONCAT_WS)
        return false;
    ListCell* cell = nullptr;
    foreach (cell, arguments) {
        const Oid type = exprType(static_cast<Node*>(lfirst(cell)));
        Oid output = InvalidOid;
        bool has_length = false;
        if (type >= FirstNormalObjectId || OidIsValid(get_element_type(type)))
            return false;
        getTypeOutputInfo(type, &output, &has_length);
        if (func_volatile(output) != PROVOLATILE_IMMUTABLE)
            return false;
    }
    return true;
}

/// Whether values of one of these types, made of text, depend on more than the text. XMLTABLE,
/// JSON_TABLE and JSON_VALUE make them so, by no call in the query.
bool input_varies(const List* types) {
    ListCell* cell = nullptr;
    foreach (cell, types) {
        Oid input = InvalidOid;
        Oid parameter = InvalidOid;
        getTypeInputInfo(lfirst_oid(cell), &input, &parameter);
        if (func_volatile(input) != PROVOLATILE_IMMUTABLE)
            return true;
    }
    return false;
}

/// The reason in a node of the person or the time, not in those below it; null if there is none.
const char* why_varies(Node* node) {
    Oid function = InvalidOid;
    if (IsA(node, SQLValueFunction))
        return "the time or the session";
    if (IsA(node, Var) && reinterpret_cast<const Var*>(node)->varattno < 0)
        return "a system column";
    if (IsA(node, XmlExpr))
        return "XML";
    if (IsA(node, TableFunc) && input_varies(reinterpret_cast<const TableFunc*>(node)->coltypes))
        return "XMLTABLE or JSON_TABLE";
#if PG_VERSION_NUM >= 160000
    if (IsA(node, JsonConstructorExpr) && contain_mutable_functions(node))
        return "SQL/JSON";
#endif
#if PG_VERSION_NUM >= 170000
    if (IsA(node, JsonExpr) &&
        (contain_mutable_functions(node) ||
         input_varies(list_make1_oid(reinterpret_cast<const JsonExpr*>(node)->returning->typid))))
        return "SQL/JSON";
#endif
    return !makes_fixed_text(node) && check_functions_in_node(node, is_mutable, &function)
               ? format_procedure(function)
               : nullptr;
}

const char* why_column_varies(const Query* query, AttrNumber column) {
    const char* reason = why_not_column(query, column, why_varies);
    return reason == nullptr
               ? nullptr
               : psprintf("Column \"%s\" depends on %s, which is not immutable. The columns of the "
                          "person and the time must be immutable.",
                          get_tle_by_resno(query->targetList, column)->resname, reason);
}

/// Whether the planner casts what an operand of a set operation returns to these types: it does so
/// by no call in the query, which neither this file nor never_fails.cpp could look at.
bool casts(const Query* query, const Node* operand, const List* types) {
    const auto* operation = reinterpret_cast<const SetOperationStmt*>(operand);
    const Query* leaf =
        IsA(operand, RangeTblRef)
            ? rt_fetch(reinterpret_cast<const RangeTblRef*>(operand)->rtindex, query->rtable)
                  ->subquery
            : nullptr;
    for (int i = 0; i < list_length(types); ++i) {
        const Oid type =
            leaf == nullptr
                ? list_nth_oid(operation->colTypes, i)
                : exprType(reinterpret_cast<const Node*>(
                      static_cast<const TargetEntry*>(list_nth(leaf->targetList, i))->expr));
        if (!IsBinaryCoercible(type, list_nth_oid(types, i)))
            return true;
    }
    return leaf == nullptr && (casts(query, operation->larg, operation->colTypes) ||
                               casts(query, operation->rarg, operation->colTypes));
}

bool find_casts(Node* node, void* context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return expression_tree_walker(node, tree_walker(find_casts), context);
    auto* query = reinterpret_cast<Query*>(node);
    const auto* operation = reinterpret_cast<const SetOperationStmt*>(query->setOperations);
    return (operation != nullptr && casts(query, query->setOperations, operation->colTypes)) ||
           query_tree_walker(query, tree_walker(find_casts), context, 0);
}

} // namespace

const char* why_not_accepted(Query* query, AttrNumber person, AttrNumber at) {
    const char* reason = nullptr;
    if (find_call(reinterpret_cast<Node*>(query), &reason))
        return reason;
    if (find_casts(reinterpret_cast<Node*>(query), nullptr))
        return "It has a UNION, INTERSECT or EXCEPT of columns of different types, which need "
               "casts.";
    reason = why_column_varies(query, person);
    return reason != nullptr ? reason : why_column_varies(query, at);
}

} // namespace dp_counter::pg
