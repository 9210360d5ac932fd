#include "pg/live/releases_view.hpp"

#include "pg/live/privileges.hpp"
#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/view.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"
}

namespace dp_counter::pg {

namespace {

/// The view that CREATE VIEW makes for this name: in the schema named, or else in the first one of
/// the search path.
RangeVar* parse_name(text* name) {
    RangeVar* view = makeRangeVarFromNameList(textToQualifiedNameList(name));
    const Oid schema = RangeVarGetCreationNamespace(view);
    if (isTempNamespace(schema))
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("the releases of a counter cannot be temporary"),
                        errhint("A counter that ends with the session would be made again, at the "
                                "cost of another epsilon.")));
    view->schemaname = get_namespace_name(schema);
    return view;
}

void execute(const char* statement) {
    SPI_connect();
    const int result = SPI_execute(statement, false, 0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not execute \"%s\": %s", statement, SPI_result_code_string(result));
    SPI_finish();
}

/// `(SELECT) AS one`: a row without columns. Beside it a view is not updatable.
Query* one_row() {
    Query* query = makeNode(Query);
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->jointree = makeFromExpr(NIL, nullptr);
    return query;
}

/// SELECT step, ... FROM dp_counter_private.published, (SELECT) AS one WHERE counter = `number`.
/// Put together by hand: the parser looks tables up by name as the current user, who may not use
/// the schema.
Query* releases_of(std::int32_t number) {
    Relation published = table_open(secret_relation("published"), AccessShareLock);
    ParseState* state = make_parsestate(nullptr);
    ParseNamespaceItem* releases =
        addRangeTableEntryForRelation(state, published, AccessShareLock, nullptr, true, true);
    addNSItemToQuery(state, releases, true, true, true);
    addNSItemToQuery(
        state, addRangeTableEntryForSubquery(state, one_row(), makeAlias("one", NIL), false, true),
        true, true, true);

    TupleDesc columns = RelationGetDescr(published);
    const auto column = [&](int i) {
        return reinterpret_cast<Expr*>(scanNSItemForColumn(
            state, releases, 0, NameStr(TupleDescAttr(columns, i)->attname), -1));
    };
    Query* query = makeNode(Query);
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    for (int i = 1; i < columns->natts; ++i) {
        char* name = pstrdup(NameStr(TupleDescAttr(columns, i)->attname));
        query->targetList = lappend(
            query->targetList, makeTargetEntry(column(i), static_cast<AttrNumber>(i), name, false));
    }
    Const* constant = makeConst(INT4OID, -1, InvalidOid, sizeof(std::int32_t),
                                Int32GetDatum(number), false, true);
    Expr* is_counter = make_opclause(Int4EqualOperator, BOOLOID, false, column(0),
                                     reinterpret_cast<Expr*>(constant), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr*>(is_counter));
    query->rtable = state->p_rtable;
#if PG_VERSION_NUM >= 160000
    query->rteperminfos = state->p_rteperminfos;
#endif
    query->jointree = makeFromExpr(state->p_joinlist, reinterpret_cast<Node*>(is_counter));
    free_parsestate(state);
    table_close(published, NoLock);
    return query;
}

} // namespace

Oid create_releases_view(text* name, std::int32_t number) {
    const RangeVar* view = parse_name(name);
    execute(psprintf("CREATE VIEW %s WITH (security_barrier) AS SELECT "
                     "NULL::pg_catalog.int8 AS step, "
                     "NULL::pg_catalog.timestamptz AS released_at, "
                     "NULL::pg_catalog.int8 AS count, "
                     "NULL::pg_catalog.float8 AS stddev, "
                     "NULL::pg_catalog.int8 AS low, "
                     "NULL::pg_catalog.int8 AS high",
                     quote_qualified_identifier(view->schemaname, view->relname)));
    const Oid relation =
        get_relname_relid(view->relname, get_namespace_oid(view->schemaname, false));
    StoreViewQuery(relation, releases_of(number), true);
    return relation;
}

void drop_releases_view(Oid view) {
    execute(psprintf("DROP VIEW %s", quoted_name(view)));
}

} // namespace dp_counter::pg
