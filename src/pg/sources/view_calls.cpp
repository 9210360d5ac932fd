#include "pg/sources/view_calls.hpp"

#include "pg/server/tree_walker.hpp"
#include "pg/sources/accepted_functions.hpp"
#include "pg/sources/column_origin.hpp"
#include "pg/sources/planned_calls.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
}

namespace dp_counter::pg {

namespace {

bool find_call(Node* node, void* context);

bool is_domain(Oid type) {
    return get_typtype(type) == TYPTYPE_DOMAIN;
}

/// Reading a foreign table calls input functions and checks domains.
const char* why_not_foreign(Relation table) {
    TupleDesc row = RelationGetDescr(table);
    for (int i = 0; i < row->natts; ++i) {
        const FormData_pg_attribute* column = TupleDescAttr(row, i);
        if (!column->attisdropped &&
            (is_domain(column->atttypid) || is_domain(get_element_type(column->atttypid)) ||
             !is_accepted_type(column->atttypid)))
            return psprintf("Column \"%s\" of foreign table \"%s\" is of type %s, which may call "
                            "functions when it is read.",
                            NameStr(column->attname), RelationGetRelationName(table),
                            format_type_be(column->atttypid));
    }
    return nullptr;
}

const char* why_not_table(Oid relation) {
    const char* reason = nullptr;
    ListCell* cell = nullptr;
    foreach (cell, find_all_inheritors(relation, AccessShareLock, nullptr)) {
        Relation table = table_open(lfirst_oid(cell), NoLock);
        if (reason == nullptr)
            reason = table->rd_rel->relkind == RELKIND_FOREIGN_TABLE ? why_not_foreign(table)
                                                                     : why_not_planned(table);
        table_close(table, NoLock);
    }
    return reason;
}

/// Searches an entry of the range table. Its expressions are searched later, except the columns of
/// a join: most of these are passed on unchanged.
bool find_in_entry(const RangeTblEntry* entry, const char** reason) {
    if (entry->rtekind == RTE_RELATION && entry->relkind != RELKIND_VIEW)
        *reason = why_not_table(entry->relid);
    ListCell* cell = nullptr;
    foreach (cell, entry->joinaliasvars) {
        auto* column = static_cast<Node*>(lfirst(cell));
        if (*reason == nullptr && column != nullptr && !IsA(column, Var))
            (void)find_call(column, reason);
    }
    return *reason != nullptr;
}

/// Searches a column of a view or subquery. One that is passed on unchanged may have any type.
bool find_in_column(const TargetEntry* column, const char** reason) {
    const auto* value = reinterpret_cast<const Var*>(column->expr);
    return !(IsA(value, Var) && value->varattno > 0 && column->ressortgroupref == 0) &&
           find_call(reinterpret_cast<Node*>(column->expr), reason);
}

/// Whether the planner casts what an operand of a set operation returns to these types: it does so
/// without a call in the query.
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

bool find_in_query(const Query* query, const char** reason) {
    check_stack_depth();
    CHECK_FOR_INTERRUPTS();
    const auto* operation = reinterpret_cast<const SetOperationStmt*>(query->setOperations);
    if (operation != nullptr && casts(query, query->setOperations, operation->colTypes)) {
        *reason = "It has a UNION, INTERSECT or EXCEPT of columns of different types, which need "
                  "casts.";
        return true;
    }
    ListCell* cell = nullptr;
    foreach (cell, query->targetList)
        if (find_in_column(static_cast<const TargetEntry*>(lfirst(cell)), reason))
            return true;
    Query rest = *query;
    rest.targetList = NIL;
    return query_tree_walker(&rest, tree_walker(find_call), reason,
                             QTW_IGNORE_JOINALIASES | QTW_EXAMINE_RTES_BEFORE |
                                 QTW_EXAMINE_SORTGROUP | QTW_DONT_COPY_QUERY);
}

const char* of_function(Oid function) {
    if (!OidIsValid(function))
        return nullptr;
    const char volatility = func_volatile(function);
    return psprintf("It calls %s, which is %s.", format_procedure(function),
                    volatility == PROVOLATILE_VOLATILE ? "volatile"
                    : volatility == PROVOLATILE_STABLE
                        ? "stable, and may read data or settings"
                        : "neither built in nor a C function of an extension");
}

/// The reason in what a node, or a sort clause, compares with; null if there is none.
const char* of_operators(Node* node) {
    const Oid operation = unaccepted_operator(node);
    if (OidIsValid(operation))
        return psprintf("It uses operator %s, which is neither built in nor part of an extension "
                        "together with its negator and commutator.",
                        format_operator(operation));
    return of_function(unaccepted_support(node));
}

/// Set operations compare whole rows, unless they are ALL.
const char* of_set_operation(const SetOperationStmt* operation) {
    ListCell* cell = nullptr;
    foreach (cell, operation->groupClauses == NIL ? NIL : operation->colTypes)
        if (!is_accepted_type(lfirst_oid(cell)))
            return psprintf(
                "It compares values of type %s, whose comparison functions are not accepted.",
                format_type_be(lfirst_oid(cell)));
    return nullptr;
}

/// JSON and XML expressions may call casts that a type's owner has defined, and check domains;
/// those of XML read settings.
bool hides_calls([[maybe_unused]] Node* node) {
#if PG_VERSION_NUM >= 160000
    if (IsA(node, JsonConstructorExpr))
        return true;
#endif
#if PG_VERSION_NUM >= 170000
    if (IsA(node, JsonExpr))
        return exprType(node) >= FirstNormalObjectId;
    if (IsA(node, TableFunc))
        return reinterpret_cast<TableFunc*>(node)->functype != TFT_JSON_TABLE;
#else
    if (IsA(node, TableFunc))
        return true;
#endif
    return IsA(node, XmlExpr);
}

/// Values that depend on the session. Those of the time do not.
bool is_of_session(const SQLValueFunction* value) {
    return value->op > SVFOP_LOCALTIMESTAMP_N;
}

/// The reason in the node itself; null if there is none.
const char* why_not_node(Node* node) {
    if (IsA(node, Var) && reinterpret_cast<const Var*>(node)->varattno == 0)
        return "It uses a whole row as a value.";
    if (IsA(node, CoerceToDomain))
        return psprintf("It casts to domain %s, whose constraints may call any function.",
                        format_type_be(exprType(node)));
    if (IsA(node, SQLValueFunction) &&
        is_of_session(reinterpret_cast<const SQLValueFunction*>(node)))
        return "It uses current_user, session_user or a similar value, which depends on the "
               "session.";
    if (IsA(node, SetOperationStmt))
        return of_set_operation(reinterpret_cast<const SetOperationStmt*>(node));
    const char* reason = of_function(unaccepted_function(node, Strictness::fixed));
    if (reason == nullptr)
        reason = of_operators(node);
    if (reason != nullptr)
        return reason;
    if (hides_calls(node))
        return "It constructs JSON or XML, or extracts a type from it that is not built in.";
    if ((IsA(node, Var) || IsA(node, Const) || IsA(node, CoerceViaIO) ||
         IsA(node, ArrayCoerceExpr) || IsA(node, RowExpr) || IsA(node, ConvertRowtypeExpr)) &&
        !is_accepted_type(exprType(node)))
        return psprintf(
            "It uses values of type %s, which is neither built in nor a base type of an extension.",
            format_type_be(exprType(node)));
    return nullptr;
}

/// The walker stops, with the reason, at the first node that is not accepted.
bool find_call(Node* node, void* context) {
    auto* reason = static_cast<const char**>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Query))
        return find_in_query(reinterpret_cast<const Query*>(node), reason);
    if (IsA(node, RangeTblEntry))
        return find_in_entry(reinterpret_cast<const RangeTblEntry*>(node), reason);
    *reason = why_not_node(node);
    return *reason != nullptr || expression_tree_walker(node, tree_walker(find_call), context);
}

} // namespace

const char* why_not_accepted(Query* query, AttrNumber person, AttrNumber at) {
    const char* reason = nullptr;
    if (find_in_query(query, &reason))
        return reason;
    reason = why_not_immutable(query, person);
    return reason != nullptr ? reason : why_not_immutable(query, at);
}

} // namespace dp_counter::pg
