#include "pg/tables/faces.hpp"

#include "pg/server/tree_walker.hpp"

extern "C" {
#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "catalog/pg_rewrite.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "rewrite/rewriteSupport.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kNumber, kFace }; // of both tables

bool is_first_column(const void* node, int relation) {
    if (!IsA(node, Var))
        return false;
    const auto* column = static_cast<const Var*>(node);
    return column->varno == relation && column->varattno == 1 && column->varlevelsup == 0;
}

/// Of `its first column = number`, alone or beside other conditions; else 0.
std::int64_t number_equated(const Node* condition, int relation) {
    std::int64_t number = 0;
    if (condition != nullptr && is_andclause(condition)) {
        const ListCell* cell = nullptr;
        foreach (cell, reinterpret_cast<const BoolExpr*>(condition)->args)
            if (number == 0)
                number = number_equated(static_cast<const Node*>(lfirst(cell)), relation);
        return number;
    }
    if (condition == nullptr || !IsA(condition, OpExpr))
        return 0;
    const auto* equal = reinterpret_cast<const OpExpr*>(condition);
    if (equal->opfuncid != F_INT8EQ || !is_first_column(linitial(equal->args), relation) ||
        !IsA(lsecond(equal->args), Const))
        return 0;
    const auto* constant = lsecond_node(Const, equal->args);
    return constant->constisnull ? 0 : DatumGetInt64(constant->constvalue);
}

// Of a view that another session may be dropping: read without a lock, from the catalogs' caches,
// whose rows are whole. A relation's descriptor is built of many, some of which may be gone.

bool is_security_view(Oid relation) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(tuple))
        return false;
    bool has_none = false;
    const Datum options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &has_none);
    const bool is_view =
        reinterpret_cast<const FormData_pg_class*>(GETSTRUCT(tuple))->relkind == RELKIND_VIEW;
    const bool is_barrier =
        is_view && !has_none &&
        reinterpret_cast<const ViewOptions*>(view_reloptions(options, false))->security_barrier;
    ReleaseSysCache(tuple);
    return is_barrier;
}

const Query* query_of_view(Oid view) {
    HeapTuple tuple =
        SearchSysCache2(RULERELNAME, ObjectIdGetDatum(view), CStringGetDatum(ViewSelectRuleName));
    if (!HeapTupleIsValid(tuple))
        return nullptr;
    auto* queries = static_cast<List*>(stored_tree(RULERELNAME, tuple, Anum_pg_rewrite_ev_action));
    ReleaseSysCache(tuple);
    return linitial_node(Query, queries);
}

/// Under the lock of the number's row.
void replace_face(const FacedTable& table, std::int64_t number, Oid face) {
    lock_number(table.by_number, number);
    (void)replace_in_secret_row(table.by_number, {number_key(number)},
                                {{kFace, ObjectIdGetDatum(face)}});
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
        const std::int64_t number = number_equated(query.jointree->quals, relation);
        if (number != 0)
            return number;
    }
    return 0;
}

} // namespace

std::int64_t number_of_face(Oid view) {
    if (!is_security_view(view))
        return 0;
    const Oid published = secret_relation("published");
    const Oid spendings = secret_relation("spendings");
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter view", ALLOCSET_DEFAULT_SIZES);
    MemoryContext around = MemoryContextSwitchTo(context);
    const Query* query = query_of_view(view);
    const std::int64_t number = query == nullptr ? 0 : number_read_by(*query, published, spendings);
    MemoryContextSwitchTo(around);
    MemoryContextDelete(context);
    return number;
}

bool is_face(Oid view, std::int64_t number) {
    return OidIsValid(view) && number_of_face(view) == number;
}

std::int64_t number_in(const FacedTable& table, Oid face) {
    const std::int64_t number = number_of_face(face);
    if (number == 0)
        return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(face))
                   ? 0
                   : number_kept_with(table, face);
    Oid kept = InvalidOid;
    const bool found = visit_secret_rows(
        table.by_number, {number_key(number)},
        [&](const Datum* values, const bool*) { kept = DatumGetObjectId(values[kFace]); });
    return found && kept == face ? number : 0;
}

std::int64_t number_kept_with(const FacedTable& table, Oid face) {
    std::int64_t number = 0;
    if (OidIsValid(face))
        visit_secret_rows(
            table.by_face, {oid_key(face, kFace)},
            [&](const Datum* values, const bool*) { number = DatumGetInt64(values[kNumber]); });
    return number;
}

Oid face_of(const FacedTable& table, std::int64_t number) {
    Oid face = InvalidOid;
    visit_secret_rows(table.by_number, {number_key(number)}, [&](const Datum* values, const bool*) {
        face = DatumGetObjectId(values[kFace]);
    });
    return is_face(face, number) ? face : InvalidOid;
}

void keep_face(const FacedTable& table, Oid view) {
    const std::int64_t number = number_of_face(view);
    if (number != 0 && !OidIsValid(face_of(table, number)))
        replace_face(table, number, view);
}

/// The face of a number, for SQL; NULL where it is lost. It takes the OID that the row keeps.
DP_FUNCTION(dp_counter_face) {
    const Oid face = PG_GETARG_OID(0);
    if (!is_face(face, PG_GETARG_INT64(1)))
        PG_RETURN_NULL();
    PG_RETURN_OID(face);
}

} // namespace dp_counter::pg
