#include <cstring>

#include "pg/server/query_owners.hpp"

#include "pg/server/relations.hpp"
#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

struct Search {
    Oid owner;
    List* trees;  ///< relations that were looked at with what inherits from them
    List* tables; ///< without
    const char* found;
};

bool is_found(const char* part, Search* search) {
    search->found = part;
    return part != nullptr;
}

bool is_stranger(Oid role, const Search* search) {
    return !is_member_of_role(role, search->owner);
}

// --- functions, operators, domains

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

bool is_strangers_domain(Oid type, Search* search) {
    const Oid element = get_element_type(type);
    const Oid domain = OidIsValid(element) ? element : type;
    HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(domain));
    if (!HeapTupleIsValid(tuple))
        return false; // who looks it up raises
    const FormData_pg_type row = *reinterpret_cast<const FormData_pg_type*>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    return row.typtype == TYPTYPE_DOMAIN &&
           (is_stranger(row.typowner, search)
                ? is_found(psprintf("domain %s", format_type_be(domain)), search)
                : is_strangers_domain(row.typbasetype, search));
}

bool casts_to_strangers_domain(const Node* node, Search* search) {
    return (IsA(node, CoerceToDomain) || IsA(node, CoerceViaIO)) &&
           is_strangers_domain(exprType(node), search);
}

// --- relations

const char* kind_of(Oid relation) {
    switch (get_rel_relkind(relation)) {
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

bool is_strangers(Oid relation, Search* search) {
    return is_stranger(owner_of(relation), search) &&
           is_found(psprintf("%s %s", kind_of(relation), quoted_name(relation)), search);
}

bool is_strangers_server(Oid table, Search* search) {
    if (get_rel_relkind(table) != RELKIND_FOREIGN_TABLE)
        return false;
    const ForeignServer* server = GetForeignServer(GetForeignServerIdByRelId(table));
    return is_stranger(server->owner, search) &&
           is_found(psprintf("server %s", quote_identifier(server->servername)), search);
}

/// The table, or one that it is a partition of, also if it is being detached.
bool find_in_table(Oid table, Search* search) {
    if (is_strangers(table, search) || is_strangers_server(table, search))
        return true;
    return get_rel_relispartition(table) &&
           find_in_table(get_partition_parent(table, true), search);
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
    foreach (cell, entry->inh ? find_all_inheritors(entry->relid, AccessShareLock, nullptr)
                              : list_make1_oid(entry->relid)) {
        CHECK_FOR_INTERRUPTS();
        if (find_in_table(lfirst_oid(cell), search))
            return true;
    }
    return false;
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
                                 QTW_EXAMINE_RTES_BEFORE);
    return is_strangers_operator(operator_in(node), search) ||
           check_functions_in_node(node, is_strangers_function, context) ||
           casts_to_strangers_domain(node, search) ||
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
    return std::strstr(name, "_to_xml") != nullptr || std::strncmp(name, "pg_get_", 7) == 0 ||
           std::strcmp(name, "fmgr_sql_validator") == 0;
}

const char* strangers_part(Node* query, Oid owner) {
    Search search{owner, NIL, NIL, nullptr};
    (void)find_part(query, &search);
    return search.found;
}

} // namespace dp_counter::pg
