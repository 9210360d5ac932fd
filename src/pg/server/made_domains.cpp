#include <cstring>

#include "pg/server/made_domains.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#endif
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "optimizer/tlist.h"
#include "parser/parse_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace dp_counter::pg {

namespace {

/// Whether the second argument of the built-in function names the type of the value that it makes.
bool is_told_type(Oid function) {
    switch (function) {
    case F_ARRAY_IN:
    case F_DOMAIN_IN:
    case F_MULTIRANGE_IN:
    case F_RANGE_IN:
    case F_RECORD_IN:
#if PG_VERSION_NUM >= 160000
    case F_PG_INPUT_ERROR_INFO:
    case F_PG_INPUT_IS_VALID:
#endif
        return true;
    default:
        return false;
    }
}

/// Whether it is the name of a type of PostgreSQL's, as a constant.
bool names_built_in([[maybe_unused]] const Node* argument) {
#if PG_VERSION_NUM >= 160000
    const auto* name = reinterpret_cast<const Const*>(argument);
    Oid type = InvalidOid;
    int32 modifier = -1;
    ErrorSaveContext unknown{};
    unknown.type = T_ErrorSaveContext;
    return IsA(argument, Const) && name->consttype == TEXTOID && !name->constisnull &&
           parseTypeString(TextDatumGetCString(name->constvalue), &type, &modifier,
                           reinterpret_cast<Node*>(&unknown)) &&
           type < FirstNormalObjectId;
#else
    return false;
#endif
}

struct Walk {
    MadeDomains* domains;
    const char* domain;
};

/// A walker that stops at the first node that makes values of one.
bool find_made(Node* node, void* context) {
    auto* walk = static_cast<Walk*>(context);
    if (node == nullptr)
        return false;
    walk->domain = walk->domains->in_node(node);
    return walk->domain != nullptr || expression_tree_walker(node, tree_walker(find_made), context);
}

} // namespace

const char* MadeDomains::in_type(Oid type) {
    check_stack_depth();
    CHECK_FOR_INTERRUPTS();
    if (type < FirstNormalObjectId || list_member_oid(seen_, type))
        return nullptr;
    seen_ = lappend_oid(seen_, type);
    HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(tuple))
        return nullptr; // a column that was dropped
    const FormData_pg_type row = *reinterpret_cast<const FormData_pg_type*>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    const char* domain = nullptr;
    switch (row.typtype) {
    case TYPTYPE_DOMAIN:
        if (!has_privs_of_role(row.typowner, owner_))
            return psprintf("domain %s", format_type_be(type));
        domain = in_checks(type);
        return domain != nullptr ? domain : in_type(row.typbasetype);
    case TYPTYPE_COMPOSITE:
        return in_columns(type);
    case TYPTYPE_RANGE:
        return in_type(get_range_subtype(type));
    case TYPTYPE_MULTIRANGE:
        return in_type(get_multirange_range(type));
    default:
        return IsTrueArrayType(&row) ? in_type(row.typelem) : nullptr;
    }
}

/// As catalogs have them: the type's cache would compute what is constant in them.
const char* MadeDomains::in_checks(Oid domain) {
    Walk walk{this, nullptr};
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_constraint_contypid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(domain));
    Relation constraints = table_open(ConstraintRelationId, AccessShareLock);
    SysScanDesc scan =
        systable_beginscan(constraints, ConstraintTypidIndexId, true, nullptr, 1, &key);
    HeapTuple tuple = nullptr;
    while (walk.domain == nullptr && HeapTupleIsValid(tuple = systable_getnext(scan)))
        (void)find_made(
            static_cast<Node*>(stored_tree(CONSTROID, tuple, Anum_pg_constraint_conbin)), &walk);
    systable_endscan(scan);
    table_close(constraints, AccessShareLock);
    return walk.domain;
}

const char* MadeDomains::in_columns(Oid type) {
    TupleDesc columns = lookup_rowtype_tupdesc(type, -1);
    const char* domain = nullptr;
    for (int i = 0; i < columns->natts && domain == nullptr; ++i)
        domain = in_type(TupleDescAttr(columns, i)->atttypid);
    ReleaseTupleDesc(columns);
    return domain;
}

const char* MadeDomains::in_types(const List* types) {
    const char* domain = nullptr;
    const ListCell* cell = nullptr;
    foreach (cell, types)
        if ((domain = in_type(lfirst_oid(cell))) != nullptr)
            break;
    return domain;
}

/// jsonb_populate_record and its like, also of hstore, fill a row of their first argument's type.
const char* MadeDomains::in_filled(Oid function, const List* arguments) {
    if (is_told_type(function) && !names_built_in(static_cast<const Node*>(lsecond(arguments))))
        return psprintf("a type that function %s is told", format_procedure(function));
    const char* name = get_func_name(function);
    if (name == nullptr || arguments == NIL || std::strstr(name, "populate_record") == nullptr)
        return nullptr;
    const Oid type = exprType(static_cast<const Node*>(linitial(arguments)));
    return type != RECORDOID ? in_type(type)
                             : psprintf("the unnamed row type that function %s fills",
                                        format_procedure(function));
}

/// A function of any type, in PL/pgSQL, has variables of the types of its arguments.
const char* MadeDomains::in_call(Oid function, const List* arguments, Oid result) {
    const char* domain = in_filled(function, arguments);
    if (domain == nullptr)
        domain = in_type(result);
    const ListCell* cell = nullptr;
    foreach (cell, function < FirstNormalObjectId ? NIL : arguments) {
        if (domain != nullptr)
            break;
        domain = in_type(exprType(static_cast<const Node*>(lfirst(cell))));
    }
    return domain;
}

/// Its functions have the state as their first argument.
const char* MadeDomains::in_aggregate(Oid function, const List* arguments, Oid result) {
    HeapTuple tuple = function < FirstNormalObjectId
                          ? nullptr
                          : SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
    const char* domain = in_call(function, arguments, result);
    if (!HeapTupleIsValid(tuple))
        return domain; // or a window function
    const auto row = *reinterpret_cast<const FormData_pg_aggregate*>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    return domain != nullptr ? domain
                             : in_types(list_make2_oid(row.aggtranstype, row.aggmtranstype));
}

const char* MadeDomains::in_node(const Node* node) {
    switch (nodeTag(node)) {
    case T_FuncExpr:
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
    case T_ScalarArrayOpExpr: {
        const auto [function, arguments] = call_in(node);
        return in_call(function, arguments, exprType(node));
    }
    case T_WindowFunc: {
        const auto* call = reinterpret_cast<const WindowFunc*>(node);
        return in_aggregate(call->winfnoid, call->args, call->wintype);
    }
    case T_Aggref: {
        const auto* call = reinterpret_cast<const Aggref*>(node);
        return in_aggregate(
            call->aggfnoid,
            list_concat_copy(call->aggdirectargs, get_tlist_exprs(call->args, true)),
            call->aggtype);
    }
    case T_CoerceToDomain:
    case T_CoerceViaIO:
    case T_ArrayCoerceExpr:
#if PG_VERSION_NUM >= 170000
    case T_JsonExpr:
#endif
        return in_type(exprType(node));
    case T_SetOperationStmt: // the planner casts to these
        return in_types(reinterpret_cast<const SetOperationStmt*>(node)->colTypes);
    case T_RangeTblFunction:
        return in_types(reinterpret_cast<const RangeTblFunction*>(node)->funccoltypes);
    case T_TableFunc:
        return in_types(reinterpret_cast<const TableFunc*>(node)->coltypes);
    default:
        return nullptr;
    }
}

} // namespace dp_counter::pg
