#include "pg/live/public_view.hpp"

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
                        errmsg("\"%s\" cannot be temporary", view->relname),
                        errhint("What ends with the session would be made again, at the cost of "
                                "another epsilon.")));
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

/// SELECT `all columns but the first` FROM `rows`, (SELECT) AS one WHERE `the first` = `number`.
/// Put together by hand: the parser looks tables up by name as the current user, who may not use
/// the schema.
Query* rows_of(Relation rows, std::int32_t number) {
    ParseState* state = make_parsestate(nullptr);
    ParseNamespaceItem* item =
        addRangeTableEntryForRelation(state, rows, AccessShareLock, nullptr, true, true);
    addNSItemToQuery(state, item, true, true, true);
    addNSItemToQuery(
        state, addRangeTableEntryForSubquery(state, one_row(), makeAlias("one", NIL), false, true),
        true, true, true);

    TupleDesc columns = RelationGetDescr(rows);
    const auto column = [&](int i) {
        return reinterpret_cast<Expr*>(
            scanNSItemForColumn(state, item, 0, NameStr(TupleDescAttr(columns, i)->attname), -1));
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
    Expr* is_number = make_opclause(Int4EqualOperator, BOOLOID, false, column(0),
                                    reinterpret_cast<Expr*>(constant), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr*>(is_number));
    query->rtable = state->p_rtable;
#if PG_VERSION_NUM >= 160000
    query->rteperminfos = state->p_rteperminfos;
#endif
    query->jointree = makeFromExpr(state->p_joinlist, reinterpret_cast<Node*>(is_number));
    free_parsestate(state);
    return query;
}

} // namespace

Oid create_view_of(text* name, const char* rows, std::int32_t number) {
    const RangeVar* view = parse_name(name);
    Relation relation = table_open(secret_relation(rows), AccessShareLock);
    TupleDesc columns = RelationGetDescr(relation);
    StringInfoData empty;
    initStringInfo(&empty);
    appendStringInfo(&empty, "CREATE VIEW %s WITH (security_barrier) AS SELECT",
                     quote_qualified_identifier(view->schemaname, view->relname));
    for (int i = 1; i < columns->natts; ++i) {
        const FormData_pg_attribute* column = TupleDescAttr(columns, i);
        appendStringInfo(&empty, "%s NULL::%s AS %s", i == 1 ? "" : ",",
                         format_type_be_qualified(column->atttypid),
                         quote_identifier(NameStr(column->attname)));
    }
    execute(empty.data);
    const Oid created =
        get_relname_relid(view->relname, get_namespace_oid(view->schemaname, false));
    StoreViewQuery(created, rows_of(relation, number), true);
    table_close(relation, NoLock);
    return created;
}

void drop_view(Oid view) {
    execute(psprintf("DROP VIEW %s", quoted_name(view)));
}

} // namespace dp_counter::pg
