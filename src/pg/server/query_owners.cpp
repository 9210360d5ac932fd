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
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/readfuncs.h"
#include "storage/lmgr.h"
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
    List* trees;            ///< relations that were looked at with what inherits from them
    List* tables;           ///< without
    bool in_strangers_text; ///< in an expression of another role's table
    const char* part;       ///< what was found
};

bool is_strangers(Oid relation, const Search* search) {
    return !has_privs_of_role(owner_of(relation), search->owner);
}

// --- functions and operators

/// Of a superuser, such as an extension's, and not one that makes values of whatever type its
/// arguments choose, as populate_record of hstore does. Of those that are built in and immutable,
/// which are all that the planner computes, one computes another table's partition key.
bool is_harmless(Oid function) {
    if (function < FirstNormalObjectId)
        return function != F_SATISFIES_HASH_PARTITION;
    const Oid result = get_func_rettype(function);
    return result != RECORDOID && !IsPolymorphicType(result) &&
           is_trusted_by(BOOTSTRAP_SUPERUSERID, function);
}

/// For check_functions_in_node, which stops at the first one.
bool is_strangers_function(Oid function, void* context) {
    auto* search = static_cast<Search*>(context);
    if (is_trusted_by(search->owner, function) &&
        (!search->in_strangers_text || is_harmless(function)))
        return false;
    search->part = psprintf("function %s", format_procedure(function));
    return true;
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
    if (has_privs_of_role(owner, search->owner))
        return false;
    search->part = psprintf("operator %s", format_operator(number));
    return true;
}

bool is_found(const char* part, Search* search) {
    search->part = part;
    return part != nullptr;
}

// --- tables and views

bool find_part(Node* node, void* context);

/// An expression that a catalog's row holds as a text. The relation's descriptor has it with its
/// constants computed.
bool find_in_row(SysCacheIdentifier cache, Oid key, AttrNumber column, Search* search) {
    HeapTuple tuple = SearchSysCache1(cache, ObjectIdGetDatum(key));
    if (!HeapTupleIsValid(tuple))
        return false;
    auto* expression = static_cast<Node*>(stored_tree(cache, tuple, column));
    ReleaseSysCache(tuple);
    return find_part(expression, search);
}

bool find_in_expressions(Relation table, Search* search) {
    const ListCell* cell = nullptr;
    foreach (cell, RelationGetIndexList(table)) {
        // Or the planner would wait for a lock, and take what else was made meanwhile.
        LockRelationOid(lfirst_oid(cell), AccessShareLock);
        if (find_in_row(INDEXRELID, lfirst_oid(cell), Anum_pg_index_indpred, search) ||
            find_in_row(INDEXRELID, lfirst_oid(cell), Anum_pg_index_indexprs, search))
            return true;
    }
    foreach (cell, RelationGetStatExtList(table))
        if (find_in_row(STATEXTOID, lfirst_oid(cell), Anum_pg_statistic_ext_stxexprs, search))
            return true;
    const TupleConstr* constraints = RelationGetDescr(table)->constr;
    const int checks = constraints == nullptr ? 0 : constraints->num_check;
    for (int i = 0; i < checks; ++i)
        if (find_part(static_cast<Node*>(stringToNode(constraints->check[i].ccbin)), search))
            return true;
    return find_in_row(PARTRELID, RelationGetRelid(table), Anum_pg_partitioned_table_partexprs,
                       search);
}

bool computes_columns([[maybe_unused]] Relation table) {
#if PG_VERSION_NUM >= 180000
    const TupleConstr* constraints = RelationGetDescr(table)->constr;
    return constraints != nullptr && constraints->has_generated_virtual;
#else
    return false;
#endif
}

/// Of a table, and of one that inherits from it.
bool find_in_table(Relation table, Search* search) {
    const Oid number = RelationGetRelid(table);
    const bool around = search->in_strangers_text;
    search->in_strangers_text = is_strangers(number, search);
    if (search->in_strangers_text && table->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
        search->part = psprintf("foreign table %s", quoted_name(number));
    else if (search->in_strangers_text && computes_columns(table))
        search->part = psprintf("a virtual column of table %s", quoted_name(number));
    else if (find_in_expressions(table, search))
        search->part = psprintf("%s in an index, statistics, a constraint or a partition key of "
                                "table %s",
                                search->part, quoted_name(number));
    search->in_strangers_text = around;
    return search->part != nullptr;
}

/// The planner computes the keys of the tables that this one is a partition of, too.
bool find_in_ancestors(Oid table, Search* search) {
    if (!get_rel_relispartition(table))
        return false;
    const bool around = search->in_strangers_text;
    const ListCell* cell = nullptr;
    foreach (cell, get_partition_ancestors(table)) {
        const Oid ancestor = lfirst_oid(cell);
        search->in_strangers_text = is_strangers(ancestor, search);
        if (find_in_row(PARTRELID, ancestor, Anum_pg_partitioned_table_partexprs, search)) {
            search->part = psprintf("%s in the partition key of table %s", search->part,
                                    quoted_name(ancestor));
            break;
        }
    }
    search->in_strangers_text = around;
    return search->part != nullptr;
}

/// The query of a view is there as an entry with the view's OID, or (15) has it as its OLD.
bool find_in_relation(const RangeTblEntry* entry, Search* search) {
    if (entry->relid < FirstNormalObjectId) // also of what is no relation
        return false;
    const char* kind = entry->relkind == RELKIND_VIEW ? "view"
                       : entry->securityQuals != NIL  ? "a policy of table"
                                                      : nullptr;
    if (kind != nullptr && is_strangers(entry->relid, search)) {
        search->part = psprintf("%s %s", kind, quoted_name(entry->relid));
        return true;
    }
    List*& looked_at = entry->inh ? search->trees : search->tables;
    if (entry->relkind == RELKIND_VIEW || list_member_oid(looked_at, entry->relid))
        return false;
    looked_at = lappend_oid(looked_at, entry->relid);
    if (find_in_ancestors(entry->relid, search))
        return true;
    const ListCell* cell = nullptr;
    foreach (cell, entry->inh ? find_all_inheritors(entry->relid, AccessShareLock, nullptr)
                              : list_make1_oid(entry->relid)) {
        CHECK_FOR_INTERRUPTS();
        Relation table = relation_open(lfirst_oid(cell), NoLock);
        const bool found = find_in_table(table, search) ||
                           // whose values are made of text
                           (table->rd_rel->relkind == RELKIND_FOREIGN_TABLE &&
                            is_found(search->domains.in_type(table->rd_rel->reltype), search));
        relation_close(table, NoLock);
        if (found)
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
    return function == F_PG_GET_PARTITION_CONSTRAINTDEF ||
           (function < FirstNormalObjectId && func_volatile(function) == PROVOLATILE_STABLE &&
            std::strstr(get_func_name(function), "_to_xml") != nullptr);
}

const char* strangers_part(Node* node, Oid owner) {
    Search search{owner, MadeDomains{owner}, NIL, NIL, false, nullptr};
    (void)find_part(node, &search);
    return search.part;
}

} // namespace dp_counter::pg
