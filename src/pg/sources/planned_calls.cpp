#include <initializer_list>

#include "pg/sources/planned_calls.hpp"

#include "pg/server/tree_walker.hpp"
#include "pg/sources/accepted_functions.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "catalog/pg_language.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_statistic_ext.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

/// Walker: stops at a function that is not accepted and has no column among its arguments, or is in
/// SQL, which the planner inlines.
bool find_call(Node* node, void* context) {
    if (node == nullptr)
        return false;
    Oid function = unaccepted_function(node, Strictness::fixed);
    const Oid operation = unaccepted_operator(node);
    if (OidIsValid(operation) && !OidIsValid(function))
        function = get_opcode(operation);
    if (OidIsValid(function) &&
        (!contain_var_clause(node) || language_of(function) == SQLlanguageId)) {
        *static_cast<Oid*>(context) = function;
        return true;
    }
    return expression_tree_walker(node, tree_walker(find_call), context);
}

const char* calls(Oid function, const char* name) {
    return OidIsValid(function)
               ? psprintf(
                     "PostgreSQL may call %s for \"%s\" when it plans a query or reads the table.",
                     format_procedure(function), name)
               : nullptr;
}

/// The reason in the expressions of a catalog row; null if there is none. Releases the row.
const char* why_not(int cache, HeapTuple tuple, std::initializer_list<AttrNumber> columns,
                    const char* name) {
    Oid function = InvalidOid;
    for (const AttrNumber column : columns) {
        bool is_null = false;
        const Datum tree = SysCacheGetAttr(cache, tuple, column, &is_null);
        if (!is_null && !OidIsValid(function))
            (void)find_call(static_cast<Node*>(stringToNode(TextDatumGetCString(tree))), &function);
    }
    ReleaseSysCache(tuple);
    return calls(function, name);
}

/// The reason in an index: in the functions that compare its columns, or in its expressions.
const char* why_not_index(Oid index) {
    Relation opened = index_open(index, AccessShareLock);
    Oid function = InvalidOid;
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(opened); ++i)
        if (!OidIsValid(function))
            function = unaccepted_support_of_family(opened->rd_opfamily[i]);
    index_close(opened, NoLock);
    if (OidIsValid(function))
        return calls(function, get_rel_name(index));
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
    return HeapTupleIsValid(tuple)
               ? why_not(INDEXRELID, tuple, {Anum_pg_index_indexprs, Anum_pg_index_indpred},
                         get_rel_name(index))
               : nullptr;
}

/// The reason in a partition key: in the functions that compare bounds, or in its expressions.
const char* why_not_partitions(Oid table) {
    HeapTuple tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(table));
    if (!HeapTupleIsValid(tuple))
        return nullptr;
    bool is_null = false;
    const auto* classes = reinterpret_cast<const oidvector*>(DatumGetPointer(
        SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partclass, &is_null)));
    Oid function = InvalidOid;
    for (int i = 0; i < classes->dim1 && !OidIsValid(function); ++i)
        function = unaccepted_support_of_family(get_opclass_family(classes->values[i]));
    const char* reason =
        why_not(PARTRELID, tuple, {Anum_pg_partitioned_table_partexprs}, get_rel_name(table));
    return OidIsValid(function) ? calls(function, get_rel_name(table)) : reason;
}

const char* why_not_statistics([[maybe_unused]] Oid statistics) {
#if PG_VERSION_NUM >= 140000
    HeapTuple tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(statistics));
    if (HeapTupleIsValid(tuple))
        return why_not(
            STATEXTOID, tuple, {Anum_pg_statistic_ext_stxexprs},
            pstrdup(NameStr(
                reinterpret_cast<const FormData_pg_statistic_ext*>(GETSTRUCT(tuple))->stxname)));
#endif
    return nullptr;
}

} // namespace

const char* why_not_planned(Relation table) {
    const char* reason = why_not_partitions(RelationGetRelid(table));
    ListCell* cell = nullptr;
    foreach (cell, RelationGetIndexList(table))
        if (reason == nullptr)
            reason = why_not_index(lfirst_oid(cell));
    foreach (cell, RelationGetStatExtList(table))
        if (reason == nullptr)
            reason = why_not_statistics(lfirst_oid(cell));
    return reason;
}

} // namespace dp_counter::pg
