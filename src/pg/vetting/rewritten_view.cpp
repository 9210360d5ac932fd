#include "pg/vetting/rewritten_view.hpp"

#include "pg/server/as_role.hpp"
#include "pg/server/query_owners.hpp"
#include "pg/server/relations.hpp"
#include "pg/vetting/view_calls.hpp"

extern "C" {
#include "parser/analyze.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
}

namespace dp_counter::pg {

namespace {

Query* rewrite_view(Oid source) {
    Query* statement = nullptr;
    as_role(owner_of(source), [&] {
        const char* sql = psprintf("SELECT * FROM %s", quoted_name(source));
        statement = rewritten(sql, nullptr, 0, source);
    });
    return statement;
}

} // namespace

Query* rewritten(const char* sql, Oid* types, int count, Oid source) {
    RawStmt* raw = linitial_node(RawStmt, pg_parse_query(sql));
    Query* statement = parse_analyze_fixedparams(raw, sql, types, count, nullptr);
    // ALTER SCHEMA ... RENAME, which no lock on the source blocks, may have put another one there.
    if (linitial_node(RangeTblEntry, statement->rtable)->relid != source)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                        errmsg("source \"%s\" was moved while it was read", get_rel_name(source)),
                        errhint("Try again.")));
    return linitial_node(Query, QueryRewrite(statement));
}

void check_calls(Query* statement, Oid source, AttrNumber person, AttrNumber at, int sqlstate) {
    const char* name = get_rel_name(source);
    const char* part = strangers_part(reinterpret_cast<Node*>(statement), owner_of(source));
    if (part != nullptr)
        ereport(ERROR,
                (errcode(sqlstate),
                 errmsg("source \"%s\" uses what another role could change", name),
                 errdetail("It uses %s, which belongs to another role than the view.", part),
                 errhint("What that role writes would run with the rights of the view's owner. If "
                         "you trust it, grant it the role that owns the view, or let it declare "
                         "the source.")));
    const char* reason = why_not_accepted(statement, person, at);
    if (reason != nullptr)
        ereport(
            ERROR,
            (errcode(sqlstate),
             errmsg("source \"%s\" has an expression that is not accepted", name),
             errdetail("%s", reason),
             errhint(
                 "A view may call PostgreSQL's functions, and its owner's if they are declared "
                 "STABLE or, for the person and the time, IMMUTABLE: a timestamptz is made local "
                 "by AT TIME ZONE 'Europe/Berlin'. What a view cannot call can be stored in a "
                 "column of the table.")));
}

void check_source_calls(Oid source, const SourceRow& row) {
    check_calls(rewrite_view(source), source, row.person, row.at, ERRCODE_FEATURE_NOT_SUPPORTED);
}

const Query* expanded_view(Oid source) {
    return linitial_node(RangeTblEntry, rewrite_view(source)->rtable)->subquery;
}

} // namespace dp_counter::pg
