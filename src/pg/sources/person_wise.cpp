#include <cstring>
#include <initializer_list>

#include "pg/sources/person_wise.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

bool is_time(Oid type) {
    return type == DATEOID || type == TIMEOID || type == TIMETZOID || type == TIMESTAMPOID ||
           type == TIMESTAMPTZOID || type == INTERVALOID;
}

/// Of the stable functions of pg_catalog some read tables, statistics or transactions. Those of
/// dates and times do not, nor do the ones that make text of values; all else is left out.
bool reads_no_data(const FormData_pg_proc* function) {
    const char* name = NameStr(function->proname);
    if (std::strncmp(name, "pg_", 3) == 0)
        return false;
    const Oid* arguments = function->proargtypes.values;
    const int count = function->proargtypes.dim1;
    const bool from_text = count > 0 && arguments[0] == CSTRINGOID; // an input function
    bool has_time = is_time(function->prorettype);
    for (int i = 0; i < count; ++i) {
        has_time = has_time || is_time(arguments[i]);
        if (!from_text && (arguments[i] == OIDOID || arguments[i] == REGCLASSOID ||
                           arguments[i] == XIDOID || arguments[i] == NAMEOID))
            return false;
    }
    if (has_time)
        return true;
    for (const char* other :
         {"concat", "concat_ws", "format", "textanycat", "anytextcat", "enum_in", "enum_out"})
        if (std::strcmp(name, other) == 0)
            return true;
    return false;
}

/// For check_functions_in_node: stops at the first one, and leaves it in `unfit`.
bool is_unfit_function(Oid function, void* unfit) {
    *static_cast<Oid*>(unfit) = function;
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return true;
    const auto* row = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple));
    const bool fit = row->pronamespace == PG_CATALOG_NAMESPACE && function < FirstNormalObjectId &&
                     (row->provolatile == PROVOLATILE_IMMUTABLE ||
                      (row->provolatile == PROVOLATILE_STABLE && reads_no_data(row)));
    ReleaseSysCache(tuple);
    return !fit;
}

bool is_in_catalog(Oid type) {
    HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(tuple))
        return false;
    const bool is_in = reinterpret_cast<const FormData_pg_type*>(GETSTRUCT(tuple))->typnamespace ==
                       PG_CATALOG_NAMESPACE;
    ReleaseSysCache(tuple);
    return is_in;
}

/// Whether functions of pg_catalog that take the type run no function of anybody else's: those that
/// compare arrays, say, call what their elements' type brings along.
bool is_plain_type(Oid type) {
    Oid base = getBaseType(type);
    const Oid element = get_element_type(base);
    if (OidIsValid(element))
        base = getBaseType(element);
    if (get_typtype(base) == TYPTYPE_ENUM)
        return true;
    return is_in_catalog(base);
}

/// Whether the node hides functions: SQL's JSON expressions cast values to json by what a type's
/// owner has made for that, and check domains.
bool is_unfit_json([[maybe_unused]] Node* node) {
#if PG_VERSION_NUM >= 160000
    if (IsA(node, JsonConstructorExpr))
        return true;
#endif
#if PG_VERSION_NUM >= 170000
    if (IsA(node, JsonExpr))
        return !is_in_catalog(exprType(node));
#endif
    return false;
}

/// The walk stops, with the reason, at the first part of an expression that may not be there.
bool find_reason(Node* node, void* reason) {
    const auto because = [&](const char* text) {
        *static_cast<const char**>(reason) = text;
        return true;
    };
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        const auto* column = reinterpret_cast<const Var*>(node);
        if (column->varattno < 0 && column->varattno != TableOidAttributeNumber)
            return because("It reads a system column.");
        if (column->varattno == 0)
            return because("It uses a whole row as a value.");
    }
    if (IsA(node, CoerceToDomain))
        return because("It casts to a domain, whose constraints may read anything.");
    Oid unfit = InvalidOid;
    if (check_functions_in_node(node, is_unfit_function, &unfit))
        return because(
            psprintf("It calls %s, which is volatile, not in pg_catalog, or may read data.",
                     format_procedure(unfit)));
    if (is_unfit_json(node))
        return because("It makes JSON, or takes a type out of it that is not PostgreSQL's own.");
    if ((IsA(node, Var) || IsA(node, Const) || IsA(node, CoerceViaIO) ||
         IsA(node, ArrayCoerceExpr)) &&
        !is_plain_type(exprType(node)))
        return because("It has an expression of a type that is not PostgreSQL's own.");
    return expression_tree_walker(node, tree_walker(find_reason), reason);
}

/// Of a column of the view. One that is handed on as it is may have any type.
bool find_reason_in_column(const TargetEntry* column, const char** reason) {
    const auto* value = reinterpret_cast<const Var*>(column->expr);
    return !(IsA(value, Var) && value->varattno > 0) &&
           find_reason(reinterpret_cast<Node*>(column->expr), reason);
}

const char* why_not_simple(Query* query) {
    if (query->commandType != CMD_SELECT || query->setOperations != nullptr ||
        query->cteList != NIL)
        return "It is a UNION or the like, or has a WITH.";
    if (query->hasAggs || query->hasWindowFuncs || query->groupClause != NIL ||
        query->groupingSets != NIL || query->havingQual != nullptr || query->distinctClause != NIL)
        return "It has aggregates, window functions, GROUP BY or DISTINCT.";
    if (query->limitCount != nullptr || query->limitOffset != nullptr || query->rowMarks != NIL)
        return "It has LIMIT, OFFSET or FOR UPDATE.";
    if (query->hasSubLinks || query->hasTargetSRFs)
        return "It has a subquery or a set-returning function.";
    if (query->jointree == nullptr || list_length(query->jointree->fromlist) != 1 ||
        !IsA(linitial(query->jointree->fromlist), RangeTblRef))
        return "It does not read exactly one table.";
    const char* reason = nullptr;
    ListCell* cell = nullptr;
    foreach (cell, query->targetList)
        if (find_reason_in_column(static_cast<const TargetEntry*>(lfirst(cell)), &reason))
            return reason;
    (void)find_reason(query->jointree->quals, &reason);
    return reason;
}

const char* why_not_simple(Oid relation);

const char* why_not_simple(const RangeTblEntry* entry) {
    if (entry->rtekind != RTE_RELATION || entry->tablesample != nullptr)
        return "It does not read a table, or reads a sample of one.";
    return why_not_simple(entry->relid);
}

/// Of a view or of a table.
const char* why_not_simple(Oid relation) {
    check_stack_depth();
    Relation opened = table_open(relation, AccessShareLock);
    const char kind = opened->rd_rel->relkind;
    const char* reason = nullptr;
    if (kind == RELKIND_VIEW) {
        Query* query = get_view_query(opened);
        reason = why_not_simple(query);
        if (reason == nullptr) {
            const auto* from =
                reinterpret_cast<const RangeTblRef*>(linitial(query->jointree->fromlist));
            reason = why_not_simple(rt_fetch(from->rtindex, query->rtable));
        }
    } else if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE) {
        reason = "It reads what is neither a table nor a view.";
    } else if (opened->rd_rel->relrowsecurity) {
        reason = "It reads a table with row security, whose policies may read anything.";
    } else if (opened->rd_rel->relhassubclass) {
        ListCell* cell = nullptr;
        foreach (cell, find_all_inheritors(relation, AccessShareLock, nullptr)) {
            const char child = get_rel_relkind(lfirst_oid(cell));
            if (child != RELKIND_RELATION && child != RELKIND_PARTITIONED_TABLE)
                reason = "It reads a table, a part of which is foreign.";
        }
    }
    table_close(opened, NoLock);
    return reason;
}

} // namespace

const char* why_not_person_wise(Oid view) {
    return why_not_simple(view);
}

} // namespace dp_counter::pg
