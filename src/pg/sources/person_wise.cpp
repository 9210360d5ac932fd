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

bool has_system_column(Node* node, void* context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        const AttrNumber column = reinterpret_cast<const Var*>(node)->varattno;
        return column < 0 && column != TableOidAttributeNumber;
    }
    return expression_tree_walker(node, tree_walker(has_system_column), context);
}

const char* why_not_simple(Query* query) {
    if (query->commandType != CMD_SELECT || query->setOperations != nullptr ||
        query->cteList != NIL)
        return "It has UNION, INTERSECT, EXCEPT or WITH.";
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
    if (has_system_column(reinterpret_cast<Node*>(query->targetList), nullptr) ||
        has_system_column(query->jointree->quals, nullptr))
        return "It reads a system column.";
    return nullptr;
}

const char* why_not_simple(Oid relation);

const char* why_not_simple(const RangeTblEntry* entry) {
    if (entry->rtekind != RTE_RELATION || entry->tablesample != nullptr)
        return "It reads something other than a table, or uses TABLESAMPLE.";
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
        reason = "It reads a materialized view, a foreign table or a sequence.";
    } else if (opened->rd_rel->relrowsecurity) {
        reason = "It reads a table with row security, whose policies may read anything.";
    } else if (opened->rd_rel->relhassubclass) {
        ListCell* cell = nullptr;
        foreach (cell, find_all_inheritors(relation, AccessShareLock, nullptr)) {
            const char child = get_rel_relkind(lfirst_oid(cell));
            if (child != RELKIND_RELATION && child != RELKIND_PARTITIONED_TABLE)
                reason = "It reads a table with a foreign partition or child table.";
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
