#include "pg/tables/faces.hpp"

#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "rewrite/prs2lock.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/relcache.h"
}

namespace dp_counter::pg {

namespace {

/// The query of a view; null for another relation.
const Query* query_of(Relation view) {
    if (view->rd_rel->relkind != RELKIND_VIEW || view->rd_rules == nullptr)
        return nullptr;
    for (int i = 0; i < view->rd_rules->numLocks; ++i) {
        const RewriteRule* rule = view->rd_rules->rules[i];
        if (rule->event == CMD_SELECT)
            return linitial_node(Query, rule->actions);
    }
    return nullptr;
}

bool is_first_column(const void* node, int relation) {
    if (!IsA(node, Var))
        return false;
    const auto* column = static_cast<const Var*>(node);
    return column->varno == relation && column->varattno == 1 && column->varlevelsup == 0;
}

/// Of `its first column = number`, alone or beside other conditions; else 0.
std::int64_t number_in(const Node* condition, int relation) {
    std::int64_t number = 0;
    if (condition != nullptr && is_andclause(condition)) {
        const ListCell* cell = nullptr;
        foreach (cell, reinterpret_cast<const BoolExpr*>(condition)->args)
            if (number == 0)
                number = number_in(static_cast<const Node*>(lfirst(cell)), relation);
        return number;
    }
    if (condition == nullptr || !IsA(condition, OpExpr))
        return 0;
    const auto* equal = reinterpret_cast<const OpExpr*>(condition);
    if (equal->opfuncid != F_INT4EQ || !is_first_column(linitial(equal->args), relation) ||
        !IsA(lsecond(equal->args), Const))
        return 0;
    const auto* constant = lsecond_node(Const, equal->args);
    return constant->constisnull ? 0 : DatumGetInt32(constant->constvalue);
}

/// Reads the query alone: no catalog, so nothing replaces it meanwhile.
std::int64_t number_read_by(const Query& query, Oid published, Oid spendings) {
    int relation = 0;
    const ListCell* cell = nullptr;
    foreach (cell, query.rtable) {
        ++relation;
        const auto* entry = lfirst_node(RangeTblEntry, cell);
        if (entry->rtekind != RTE_RELATION ||
            (entry->relid != published && entry->relid != spendings))
            continue;
        const std::int64_t number = number_in(query.jointree->quals, relation);
        if (number != 0)
            return number;
    }
    return 0;
}

} // namespace

std::int64_t number_of_face(Oid view) {
    const Oid published = secret_relation("published");
    const Oid spendings = secret_relation("spendings");
    Relation relation = RelationIdGetRelation(view);
    if (!RelationIsValid(relation))
        return 0;
    const Query* query = query_of(relation);
    const std::int64_t number = query == nullptr || !RelationIsSecurityView(relation)
                                    ? 0
                                    : number_read_by(*query, published, spendings);
    RelationClose(relation);
    return number;
}

bool is_face(Oid view, std::int64_t number) {
    return OidIsValid(view) && number_of_face(view) == number;
}

} // namespace dp_counter::pg
