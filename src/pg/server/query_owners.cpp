#include <cstring>

#include "pg/server/query_owners.hpp"

#include "pg/server/made_domains.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/transam.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/readfuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

struct Search {
    Oid owner;
    MadeDomains domains;
    List* trees;  ///< relations that were looked at with what inherits from them
    List* tables; ///< without
    StrangersParts found;
};

bool is_strangers(Oid relation, const Search* search) {
    return !has_privs_of_role(owner_of(relation), search->owner);
}

bool is_found(const char* part, Search* search) {
    search->found.evaluated = part;
    return part != nullptr;
}

// --- functions and operators

/// For check_functions_in_node, which stops at the first one.
bool is_strangers_function(Oid function, void* context) {
    auto* search = static_cast<Search*>(context);
    if (!is_trusted_by(search->owner, function))
        return is_found(psprintf("function %s", format_procedure(function)), search);
    if (function >= FirstNormalObjectId)
        search->found.functions = list_append_unique_oid(search->found.functions, function);
    return false;
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
    return !has_privs_of_role(owner, search->owner) &&
           is_found(psprintf("operator %s", format_operator(number)), search);
}

// --- tables and views

bool computes_columns([[maybe_unused]] Oid number) {
#if PG_VERSION_NUM >= 180000
    Relation table = relation_open(number, NoLock);
    const TupleConstr* constraints = RelationGetDescr(table)->constr;
    const bool computes = constraints != nullptr && constraints->has_generated_virtual;
    relation_close(table, NoLock);
    return computes;
#else
    return false;
#endif
}

/// An expression that a catalog's row holds as a text. The relation's descriptor has it with its
/// constants computed.
Node* stored_in(SysCacheIdentifier cache, Oid key, AttrNumber column) {
    HeapTuple tuple = SearchSysCache1(cache, ObjectIdGetDatum(key));
    if (!HeapTupleIsValid(tuple))
        return nullptr;
    auto* expression = static_cast<Node*>(stored_tree(cache, tuple, column));
    ReleaseSysCache(tuple);
    return expression;
}

/// Whether what the planner computes of a table of the owner's has a part of a stranger's, who had
/// the table before, or another one that it was a partition of.
bool has_strangers_expression(Oid number, Oid owner) {
    List* expressions = NIL;
    Relation table = relation_open(number, AccessShareLock);
    const ListCell* cell = nullptr;
    foreach (cell, RelationGetIndexList(table)) {
        const Oid index = lfirst_oid(cell);
        expressions = lappend(expressions, stored_in(INDEXRELID, index, Anum_pg_index_indpred));
        expressions = lappend(expressions, stored_in(INDEXRELID, index, Anum_pg_index_indexprs));
    }
    foreach (cell, RelationGetStatExtList(table))
        expressions = lappend(
            expressions, stored_in(STATEXTOID, lfirst_oid(cell), Anum_pg_statistic_ext_stxexprs));
    const TupleConstr* constraints = RelationGetDescr(table)->constr;
    for (int i = 0; constraints != nullptr && i < constraints->num_check; ++i)
        expressions = lappend(expressions, stringToNode(constraints->check[i].ccbin));
    expressions =
        lappend(expressions, stored_in(PARTRELID, number, Anum_pg_partitioned_table_partexprs));
    relation_close(table, NoLock);
    return strangers_parts(reinterpret_cast<Node*>(expressions), owner).evaluated != nullptr;
}

/// The executor computes partition keys, too, where it has them no longer: when it starts. So they
/// call what is built in alone.
bool find_in_partition_key(Oid table, Search* search) {
    const auto [evaluated, has_tables, functions] = strangers_parts(
        stored_in(PARTRELID, table, Anum_pg_partitioned_table_partexprs), search->owner);
    const char* part = functions == NIL
                           ? evaluated
                           : psprintf("function %s", format_procedure(linitial_oid(functions)));
    return part != nullptr &&
           is_found(psprintf("%s in the partition key of table %s", part, quoted_name(table)),
                    search);
}

bool is_strangers_server(Oid table, Search* search) {
    const ForeignServer* server = GetForeignServer(GetForeignServerIdByRelId(table));
    return !has_privs_of_role(server->owner, search->owner) &&
           is_found(psprintf("server %s", server->servername), search);
}

/// Also if it is being detached.
bool has_strangers_ancestor(Oid table, const Search* search) {
    while (get_rel_relispartition(table)) {
        table = get_partition_parent(table, true);
        if (is_strangers(table, search))
            return true;
    }
    return false;
}

bool find_in_table(Oid table, Search* search) {
    const bool is_of_stranger = is_strangers(table, search);
    search->found.has_tables |= is_of_stranger || has_strangers_ancestor(table, search) ||
                                has_strangers_expression(table, search->owner);
    if (is_of_stranger && computes_columns(table))
        return is_found(psprintf("a virtual column of table %s", quoted_name(table)), search);
    if (get_rel_relkind(table) != RELKIND_FOREIGN_TABLE)
        return is_of_stranger && find_in_partition_key(table, search);
    return is_of_stranger ? is_found(psprintf("foreign table %s", quoted_name(table)), search)
                          : is_strangers_server(table, search) ||
                                // whose values are made of text
                                is_found(search->domains.in_type(get_rel_type_id(table)), search);
}

/// The query of a view is there as an entry with the view's OID, or (15) has it as its OLD.
bool find_in_relation(const RangeTblEntry* entry, Search* search) {
    if (entry->relid < FirstNormalObjectId) // also of what is no relation
        return false;
    const char* kind = entry->relkind == RELKIND_VIEW ? "view"
                       : entry->securityQuals != NIL  ? "a policy of table"
                                                      : nullptr;
    if (kind != nullptr && is_strangers(entry->relid, search))
        return is_found(psprintf("%s %s", kind, quoted_name(entry->relid)), search);
    List*& looked_at = entry->inh ? search->trees : search->tables;
    if (entry->relkind == RELKIND_VIEW || list_member_oid(looked_at, entry->relid))
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
           is_found(search->domains.in_node(node), search) ||
           expression_tree_walker(node, tree_walker(find_part), context);
}

} // namespace

bool is_trusted_by(Oid role, Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return true; // its caller raises
    const Oid owner = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->proowner;
    ReleaseSysCache(tuple);
    return has_privs_of_role(owner, role);
}

bool reads_by_name(Oid function) {
    if (function >= FirstNormalObjectId || func_volatile(function) == PROVOLATILE_IMMUTABLE)
        return function == F_SATISFIES_HASH_PARTITION;
    const char* name = get_func_name(function);
    return std::strstr(name, "_to_xml") != nullptr || std::strncmp(name, "pg_get_", 7) == 0 ||
           std::strcmp(name, "fmgr_sql_validator") == 0;
}

StrangersParts strangers_parts(Node* node, Oid owner) {
    Search search{owner, MadeDomains{owner}, NIL, NIL, {nullptr, false, NIL}};
    (void)find_part(node, &search);
    return search.found;
}

StrangersParts strangers_parts(Oid table, Oid owner) {
    Search search{owner, MadeDomains{owner}, NIL, NIL, {nullptr, false, NIL}};
    (void)find_in_table(table, &search);
    return search.found;
}

} // namespace dp_counter::pg
