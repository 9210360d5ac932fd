#include <cstring>
#include <initializer_list>

#include "pg/vetting/person_wise.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/fmgroids.h"
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

/// Some stable functions of pg_catalog read tables, statistics or transactions. Those of dates and
/// times do not, nor do those that make text of their arguments.
bool reads_no_data(const FormData_pg_proc& function) {
    const char* name = NameStr(function.proname);
    for (const char* other :
         {"concat", "concat_ws", "format", "textanycat", "anytextcat", "enum_in", "enum_out"})
        if (std::strcmp(name, other) == 0)
            return true;
    if (std::strncmp(name, "pg_", 3) == 0)
        return false;
    const Oid* arguments = function.proargtypes.values;
    const int count = function.proargtypes.dim1;
    const bool from_text = count > 0 && arguments[0] == CSTRINGOID; // an input function
    bool has_time = is_time(function.prorettype);
    for (int i = 0; i < count; ++i) {
        has_time = has_time || is_time(arguments[i]);
        if (!from_text && (arguments[i] == OIDOID || arguments[i] == REGCLASSOID ||
                           arguments[i] == XIDOID || arguments[i] == NAMEOID))
            return false;
    }
    return has_time;
}

/// Whether it is neither declared immutable nor one of PostgreSQL's own stable ones of dates, times
/// and texts, which read no data.
bool may_read_data(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto& row = *reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple));
    const bool reads = row.provolatile != PROVOLATILE_IMMUTABLE &&
                       !(function < FirstNormalObjectId && row.provolatile == PROVOLATILE_STABLE &&
                         reads_no_data(row));
    ReleaseSysCache(tuple);
    return reads;
}

/// For check_functions_in_node.
bool reads(Oid function, void* found) {
    *static_cast<Oid*>(found) = function;
    return may_read_data(function);
}

/// `||` of a text and another type casts to text, which may be a function of whoever made the type.
bool reads_by_cast(const Node* node, void* found) {
    const auto [function, arguments] = call_in(node);
    if (function != F_TEXTANYCAT && function != F_ANYTEXTCAT)
        return false;
    const ListCell* cell = nullptr;
    foreach (cell, arguments) {
        Oid cast = InvalidOid;
        (void)find_coercion_pathway(TEXTOID, exprType(static_cast<const Node*>(lfirst(cell))),
                                    COERCION_EXPLICIT, &cast);
        if (OidIsValid(cast) && reads(cast, found))
            return true;
    }
    return false;
}

/// A walker that stops, with the function, at the first that depends on more than its arguments and
/// the time.
bool find_reader(Node* node, void* found) {
    return node != nullptr &&
           (reads_by_cast(node, found) || check_functions_in_node(node, reads, found) ||
            expression_tree_walker(node, tree_walker(find_reader), found));
}

[[maybe_unused]] bool is_built_in(Oid type) {
    return type < FirstNormalObjectId && type != RECORDOID && type != RECORDARRAYOID;
}

/// Whether the node, not what is below it, is SQL/JSON that reads or writes a type that is not
/// built in: by casts to json and by checks of domains, which no tree shows.
bool has_json_of_others([[maybe_unused]] const Node* node) {
#if PG_VERSION_NUM >= 160000
    if (IsA(node, JsonConstructorExpr)) {
        ListCell* cell = nullptr;
        foreach (cell, reinterpret_cast<const JsonConstructorExpr*>(node)->args)
            if (!is_built_in(exprType(static_cast<Node*>(lfirst(cell)))))
                return true;
    }
#endif
#if PG_VERSION_NUM >= 170000
    if (IsA(node, JsonExpr))
        return !is_built_in(reinterpret_cast<const JsonExpr*>(node)->returning->typid);
#endif
    return false;
}

/// A walker that stops there.
bool find_json(Node* node, void* context) {
    return node != nullptr && (has_json_of_others(node) ||
                               expression_tree_walker(node, tree_walker(find_json), context));
}

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
        return "It has LIMIT, OFFSET or FOR UPDATE. With LIMIT, rows of one person decide which "
               "rows of others are left: take it out.";
    if (query->hasSubLinks || query->hasTargetSRFs)
        return "It has a subquery or a set-returning function.";
    if (query->jointree == nullptr || list_length(query->jointree->fromlist) != 1 ||
        !IsA(linitial(query->jointree->fromlist), RangeTblRef))
        return "It does not read exactly one table.";
    if (has_system_column(reinterpret_cast<Node*>(query->targetList), nullptr) ||
        has_system_column(query->jointree->quals, nullptr))
        return "It reads a system column.";
    Oid function = InvalidOid;
    if (find_reader(reinterpret_cast<Node*>(query->targetList), &function) ||
        find_reader(query->jointree->quals, &function))
        return psprintf("It calls %s, which is not immutable and may read other rows.",
                        format_procedure(function));
    if (find_json(reinterpret_cast<Node*>(query->targetList), nullptr) ||
        find_json(query->jointree->quals, nullptr))
        return "It converts between JSON and a type that is not built in, whose casts and checks "
               "may read other rows.";
    return nullptr;
}

} // namespace

const char* why_not_person_wise(Oid relation) {
    check_stack_depth();
    if (relation < FirstNormalObjectId)
        return "It reads a system catalog.";
    Relation opened = table_open(relation, AccessShareLock);
    const char kind = opened->rd_rel->relkind;
    const char* reason = nullptr;
    if (kind == RELKIND_VIEW) {
        Query* query = get_view_query(opened);
        reason = why_not_simple(query);
        if (reason == nullptr) {
            const auto* from =
                reinterpret_cast<const RangeTblRef*>(linitial(query->jointree->fromlist));
            const RangeTblEntry* entry = rt_fetch(from->rtindex, query->rtable);
            reason = entry->rtekind != RTE_RELATION || entry->tablesample != nullptr
                         ? "It reads something other than a table, or uses TABLESAMPLE."
                         : why_not_person_wise(entry->relid);
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

} // namespace dp_counter::pg
