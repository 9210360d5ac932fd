#include <cstring>

#include "pg/server/query_owners.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace dp_counter::pg {

namespace {

struct Search {
    Oid owner;
    List* trees;  ///< relations that were looked at with what inherits from them
    List* tables; ///< without
    List* types;
    const char* found;
};

bool is_found(const char* part, Search* search) {
    search->found = part;
    return part != nullptr;
}

bool is_stranger(Oid role, const Search* search) {
    return !is_member_of_role(role, search->owner);
}

// --- functions and operators

/// For check_functions_in_node, which stops at the first one.
bool is_strangers_function(Oid function, void* context) {
    auto* search = static_cast<Search*>(context);
    return !is_trusted_by(search->owner, function) &&
           is_found(psprintf("function %s", format_procedure(function)), search);
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

bool is_strangers_operator(Oid number, Search* search) {
    HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(number));
    if (!HeapTupleIsValid(tuple))
        return false; // of no operator, or who looks it up raises
    const Oid owner = reinterpret_cast<const FormData_pg_operator*>(GETSTRUCT(tuple))->oprowner;
    ReleaseSysCache(tuple);
    return is_stranger(owner, search) &&
           is_found(psprintf("operator %s", format_operator(number)), search);
}

// --- types

bool is_strangers_type(Oid type, Search* search);

bool has_strangers_column(Oid type, Search* search) {
    TupleDesc columns = lookup_rowtype_tupdesc(type, -1);
    bool is_one = false;
    for (int i = 0; i < columns->natts && !is_one; ++i)
        is_one = is_strangers_type(TupleDescAttr(columns, i)->atttypid, search);
    ReleaseTupleDesc(columns);
    return is_one;
}

/// Also of what its values consist of.
bool is_strangers_type(Oid type, Search* search) {
    check_stack_depth();
    if (type < FirstNormalObjectId || list_member_oid(search->types, type))
        return false;
    search->types = lappend_oid(search->types, type);
    HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(tuple))
        return false; // who looks it up raises
    const FormData_pg_type row = *reinterpret_cast<const FormData_pg_type*>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    if (is_stranger(row.typowner, search))
        return is_found(psprintf("type %s", format_type_be(type)), search);
    switch (row.typtype) {
    case TYPTYPE_DOMAIN:
        return is_strangers_type(row.typbasetype, search);
    case TYPTYPE_COMPOSITE:
        return has_strangers_column(type, search);
    case TYPTYPE_RANGE:
        return is_strangers_type(get_range_subtype(type), search);
    case TYPTYPE_MULTIRANGE:
        return is_strangers_type(get_multirange_range(type), search);
    default:
        return is_strangers_type(row.typelem, search);
    }
}

bool has_strangers_type(const List* types, Search* search) {
    const ListCell* cell = nullptr;
    foreach (cell, types)
        if (is_strangers_type(lfirst_oid(cell), search))
            return true;
    return false;
}

/// The types of other nodes are those of nodes below them.
bool is_of_strangers_type(const Node* node, Search* search) {
    switch (nodeTag(node)) {
    case T_Var:
    case T_Const:
    case T_Param:
    case T_Aggref:
    case T_WindowFunc:
    case T_FuncExpr:
    case T_OpExpr:
    case T_CoerceViaIO:
    case T_CoerceToDomain:
    case T_RowExpr:
    case T_ArrayExpr:
    case T_ConvertRowtypeExpr:
#if PG_VERSION_NUM >= 170000
    case T_JsonExpr:
#endif
        return is_strangers_type(exprType(node), search);
    case T_RangeTblFunction:
        return has_strangers_type(reinterpret_cast<const RangeTblFunction*>(node)->funccoltypes,
                                  search);
    case T_TableFunc:
        return has_strangers_type(reinterpret_cast<const TableFunc*>(node)->coltypes, search);
    default:
        return false;
    }
}

// --- relations

const char* kind_of(char kind) {
    switch (kind) {
    case RELKIND_VIEW:
        return "view";
    case RELKIND_MATVIEW:
        return "materialized view";
    case RELKIND_FOREIGN_TABLE:
        return "foreign table";
    default:
        return "table";
    }
}

/// A partition may have been dropped: it need not be locked.
bool is_strangers(Oid relation, Search* search) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(tuple))
        return false;
    const FormData_pg_class row = *reinterpret_cast<const FormData_pg_class*>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    return is_stranger(row.relowner, search) &&
           is_found(psprintf("%s %s", kind_of(row.relkind),
                             quote_qualified_identifier(get_namespace_name(row.relnamespace),
                                                        NameStr(row.relname))),
                    search);
}

bool is_strangers_server(Oid table, Search* search) {
    if (get_rel_relkind(table) != RELKIND_FOREIGN_TABLE)
        return false;
    const ForeignServer* server = GetForeignServer(GetForeignServerIdByRelId(table));
    return is_stranger(server->owner, search) &&
           is_found(psprintf("server %s", quote_identifier(server->servername)), search);
}

/// Of tables that it is a partition of, also if it is being detached.
bool has_strangers_ancestor(Oid table, Search* search) {
    while (get_rel_relispartition(table)) {
        table = get_partition_parent(table, true);
        if (is_strangers(table, search))
            return true;
    }
    return false;
}

/// The query of a view is there as an entry with the view's OID, or (15) has it as its OLD.
bool find_in_relation(const RangeTblEntry* entry, Search* search) {
    if (entry->relid < FirstNormalObjectId) // also of what is no relation
        return false;
    List*& looked_at = entry->inh ? search->trees : search->tables;
    if (list_member_oid(looked_at, entry->relid))
        return false;
    looked_at = lappend_oid(looked_at, entry->relid);
    const ListCell* cell = nullptr;
    foreach (cell, entry->inh ? find_all_inheritors(entry->relid, NoLock, nullptr)
                              : list_make1_oid(entry->relid)) {
        CHECK_FOR_INTERRUPTS();
        if (is_strangers(lfirst_oid(cell), search) || is_strangers_server(lfirst_oid(cell), search))
            return true;
    }
    return has_strangers_ancestor(entry->relid, search);
}

/// A walker that stops at the first one.
bool find_part(Node* node, void* context) {
    if (node == nullptr)
        return false;
    auto* search = static_cast<Search*>(context);
    if (IsA(node, RangeTblEntry)) // what is in it comes next
        return find_in_relation(reinterpret_cast<const RangeTblEntry*>(node), search);
    if (IsA(node, Query))
        return query_tree_walker(reinterpret_cast<Query*>(node), tree_walker(find_part), context,
                                 QTW_EXAMINE_RTES_BEFORE | QTW_IGNORE_JOINALIASES);
    return is_strangers_operator(operator_in(node), search) ||
           check_functions_in_node(node, is_strangers_function, context) ||
           is_of_strangers_type(node, search) ||
           expression_tree_walker(node, tree_walker(find_part), context);
}

} // namespace

bool is_trusted_by(Oid role, Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return true; // its caller raises
    const Oid owner = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->proowner;
    ReleaseSysCache(tuple);
    return is_member_of_role(owner, role);
}

bool reads_by_name(Oid function) {
    if (function >= FirstNormalObjectId || func_volatile(function) == PROVOLATILE_IMMUTABLE)
        return function == F_SATISFIES_HASH_PARTITION;
    const char* name = get_func_name(function);
    return std::strstr(name, "_to_xml") != nullptr ||
           std::strstr(name, "_is_updatable") != nullptr || std::strncmp(name, "pg_get_", 7) == 0 ||
           std::strcmp(name, "fmgr_sql_validator") == 0;
}

const char* strangers_part(Node* query, Oid owner) {
    Search search{owner, NIL, NIL, NIL, nullptr};
    (void)find_part(query, &search);
    return search.found;
}

} // namespace dp_counter::pg
