#include "pg/tables/public_view.hpp"

#include "pg/server/as_role.hpp"
#include "pg/server/new_relation.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/event_trigger.h"
#include "commands/view.h"
#include "nodes/makefuncs.h"
#include "parser/parse_clause.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parse_target.h"
#include "parser/parser.h"
#include "rewrite/rewriteDefine.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteSupport.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"
}

namespace dp_counter::pg {

namespace {

void execute(Node* statement, const char* sql) {
    PlannedStmt* planned = makeNode(PlannedStmt);
    planned->commandType = CMD_UTILITY;
    planned->utilityStmt = statement;
    ProcessUtility(planned, sql, false, PROCESS_UTILITY_SUBCOMMAND, nullptr, nullptr, None_Receiver,
                   nullptr);
    CommandCounterIncrement();
}

/// Work that executes a statement, as a role that the current user may not be. Event triggers run
/// as the current user: PL/pgSQL finds the types of a function's variables by the search path of
/// the session's first call, so a domain there would run its CHECK as the role.
template <class Work>
void as_command(Oid role, const char* sql, const Work& work) {
    Node* statement = linitial_node(RawStmt, pg_parse_query(sql))->stmt;
    const bool collects = EventTriggerBeginCompleteQuery();
    PG_TRY();
    {
        EventTriggerDDLCommandStart(statement);
        as_role(role, [&] { work(statement); });
        EventTriggerSQLDrop(statement);
        EventTriggerDDLCommandEnd(statement);
    }
    PG_FINALLY();
    {
        if (collects)
            EventTriggerEndCompleteQuery();
    }
    PG_END_TRY();
}

/// By the owner. It is one statement, so what it has met is the view if the role may read it now.
void grant_select(Oid view, Oid owner, Oid role) {
    const auto may_read = [&] { return pg_class_aclcheck(view, role, ACL_SELECT) == ACLCHECK_OK; };
    if (may_read())
        return;
    const char* sql = psprintf("GRANT SELECT ON %s TO %s", quoted_name(view),
                               quote_identifier(GetUserNameFromId(role, false)));
    as_command(owner, sql, [&](Node* statement) {
        execute(statement, sql);
        if (!may_read())
            raise_renamed(name_of_relation(view));
    });
}

/// `(SELECT) AS one`: a row without columns, which makes the view not updatable.
Query* one_row() {
    Query* query = makeNode(Query);
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->jointree = makeFromExpr(NIL, nullptr);
    return query;
}

/// `SELECT expression AS name, ... WHERE the first column of rows = number`, raw.
SelectStmt* parse(Relation rows, std::int64_t number, const ViewColumn* columns, int count) {
    StringInfoData sql;
    initStringInfo(&sql);
    for (int i = 0; i < count; ++i)
        appendStringInfo(&sql, "%s%s AS %s", i == 0 ? "SELECT " : ", ", columns[i].expression,
                         quote_identifier(columns[i].name));
    appendStringInfo(&sql, " WHERE %s OPERATOR(pg_catalog.=) '%lld'::pg_catalog.int8",
                     quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(rows), 0)->attname)),
                     static_cast<long long>(number));
    List* statements = raw_parser(sql.data, RAW_PARSE_DEFAULT);
    return reinterpret_cast<SelectStmt*>(linitial_node(RawStmt, statements)->stmt);
}

/// SELECT `columns` FROM `rows`, (SELECT) AS one WHERE `the first column of rows` = `number`. Adds
/// the tables to the range table directly: the parser would look them up by name, as the current
/// user, who may not use the schema.
Query* rows_of(Relation rows, std::int64_t number, const ViewColumn* columns, int count) {
    ParseState* state = make_parsestate(nullptr);
    addNSItemToQuery(
        state, addRangeTableEntryForRelation(state, rows, AccessShareLock, nullptr, true, true),
        true, true, true);
    addNSItemToQuery(
        state, addRangeTableEntryForSubquery(state, one_row(), makeAlias("one", NIL), false, true),
        true, false, false);
    SelectStmt* statement = parse(rows, number, columns, count);
    Query* query = makeNode(Query);
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->targetList = transformTargetList(state, statement->targetList, EXPR_KIND_SELECT_TARGET);
    Node* condition = transformWhereClause(state, statement->whereClause, EXPR_KIND_WHERE, "WHERE");
    query->rtable = state->p_rtable;
#if PG_VERSION_NUM >= 160000
    query->rteperminfos = state->p_rteperminfos;
#endif
    query->jointree = makeFromExpr(state->p_joinlist, condition);
    assign_query_collations(state, query);
    free_parsestate(state);
    return query;
}

} // namespace

void check_may_create(Oid schema, Oid owner) {
    const bool is_owners = OidIsValid(owner) && !may_create_in(schema, owner);
    if (!is_owners && may_create_in(schema, GetUserId()))
        return;
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for schema %s", get_namespace_name(schema)),
                    is_owners ? errdetail("Role \"%s\", which would own the view, may not create "
                                          "relations there.",
                                          GetUserNameFromId(owner, false))
                              : 0));
}

RangeVar* parse_new_name(text* name) {
    RangeVar* relation = makeRangeVarFromNameList(textToQualifiedNameList(name));
    const Oid schema = RangeVarGetAndCheckCreationNamespace(relation, NoLock, nullptr);
    if (isTempNamespace(schema))
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("\"%s\" cannot be temporary", relation->relname),
                        errhint("It would be lost at the end of the session, and creating it again "
                                "would spend epsilon again.")));
    relation->schemaname = get_namespace_name(schema);
    return relation;
}

NewView create_view_of(text* name, const char* rows, const ViewColumn* columns, int count,
                       Oid owner) {
    const RangeVar* view = parse_new_name(name);
    const Oid schema = get_namespace_oid(view->schemaname, false);
    StringInfoData empty;
    initStringInfo(&empty);
    appendStringInfo(&empty, "CREATE VIEW %s WITH (security_barrier) AS SELECT",
                     quote_qualified_identifier(view->schemaname, view->relname));
    for (int i = 0; i < count; ++i)
        appendStringInfo(&empty, "%s NULL::%s AS %s", i == 0 ? "" : ",", columns[i].type,
                         quote_identifier(columns[i].name));
    check_new(view->relname, schema);
    if (OidIsValid(owner))
        check_may_create(schema, owner);
    const std::int64_t number = next_number();
    // As the current user: what the parser looks up by name may be another's by now.
    Relation relation = table_open(secret_relation(rows), AccessShareLock);
    Query* query = rows_of(relation, number, columns, count);
    table_close(relation, NoLock);
    const Oid caller = GetUserId();
    const Oid role = OidIsValid(owner) ? owner : caller;
    Oid created = InvalidOid;
    as_command(role, empty.data, [&](Node* statement) {
        check_new(view->relname, schema);
        execute(statement, empty.data);
        created = new_relation(view->relname, schema);
        StoreViewQuery(created, query, true);
    });
    grant_select(created, role, caller);
    return {created, number};
}

NewView create_view_of(text* name, const char* rows) {
    Relation relation = table_open(secret_relation(rows), AccessShareLock);
    TupleDesc all = RelationGetDescr(relation);
    const int count = all->natts - 1;
    auto* columns = static_cast<ViewColumn*>(palloc(static_cast<Size>(count) * sizeof(ViewColumn)));
    for (int i = 0; i < count; ++i) {
        const FormData_pg_attribute* column = TupleDescAttr(all, i + 1);
        const char* own = pstrdup(NameStr(column->attname));
        columns[i] = {own, format_type_be_qualified(column->atttypid), quote_identifier(own)};
    }
    table_close(relation, NoLock);
    return create_view_of(name, rows, columns, count);
}

Query* query_of_view(Oid view) {
    Relation relation = table_open(view, NoLock);
    auto* query = static_cast<Query*>(copyObjectImpl(get_view_query(relation)));
    table_close(relation, NoLock);
    return query;
}

void replace_query_of_view(Oid view, Query* query) {
    ListCell* cell = nullptr;
    foreach (cell, query->targetList) { // RENAME COLUMN does not change the names in the query
        auto* column = lfirst_node(TargetEntry, cell);
        if (!column->resjunk)
            column->resname = get_attname(view, column->resno, false);
    }
    setRuleCheckAsUser(reinterpret_cast<Node*>(query), InvalidOid); // as a rule is stored
    (void)DefineQueryRewrite(pstrdup(ViewSelectRuleName), view, nullptr, CMD_SELECT, true, true,
                             list_make1(query));
    CommandCounterIncrement();
}

void drop_view(Oid view) {
    char* name = name_of_relation(view);
    const char* sql = psprintf("DROP VIEW %s", quoted_name(view));
    as_command(is_owner(view) ? GetUserId() : owner_of(view), sql, [&](Node* statement) {
        execute(statement, sql);
        if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(view)))
            raise_renamed(name);
    });
}

} // namespace dp_counter::pg
