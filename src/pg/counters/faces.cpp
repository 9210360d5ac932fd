// The event trigger that keeps the views of counters and budgets as they were made.
//
// By another query such a view could depend on a temporary object and go with it at the end of a
// transaction, when no event trigger runs: a budget would be forgotten that was spent from.
#include "pg/tables/faces.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace dp_counter::pg {
namespace {

/// `read` is the number whose rows the view reads now. A query that still reads them may do more:
/// whoever may use the schema of the secret tables, as pg_read_all_data may, could write one.
void check_is_kept(const FacedTable& table, Oid view, std::int64_t read, bool is_query_new) {
    const std::int64_t number = number_kept_with(table, view);
    if (number != 0 && (number != read || (is_query_new && !superuser())))
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("cannot change the query of view \"%s\"", get_rel_name(view)),
                 errdetail("It is the view of a counter or a budget, which is found by its query. "
                           "It stays a security barrier, too."),
                 errhint("Create another view over it.")));
}

/// pg_dump leaves out the members of extensions: a restored database would have forgotten a budget.
void check_is_no_member(Oid view) {
    for (const FacedTable& table : {kFacesOfCounters, kFacesOfBudgets})
        if (number_kept_with(table, view) != 0)
            ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                            errmsg("cannot add view \"%s\" to an extension", get_rel_name(view)),
                            errdetail("It is the view of a counter or a budget, and pg_dump would "
                                      "leave it out.")));
}

/// Runs a query, and calls see(value) for each of its rows, whose columns are value(1), value(2).
template <class See>
void for_each_row(const char* sql, const See& see) {
    const int result = SPI_execute(sql, false, 0); // after the command
    if (result != SPI_OK_SELECT)
        elog(ERROR, "could not read the commands: %s", SPI_result_code_string(result));
    const SPITupleTable* rows = SPI_tuptable;
    for (uint64 i = 0; i < rows->numvals; ++i)
        see([rows, i](int column) {
            bool is_null = false;
            return SPI_getbinval(rows->vals[i], rows->tupdesc, column, &is_null);
        });
}

} // namespace

/// Event trigger on ddl_command_end, for the commands that change or make a view.
DP_FUNCTION(dp_counter_replaced) {
    const Node* command = command_of_event(fcinfo, "dp_counter_replaced");
    SPI_connect();
    // All names are qualified: the role that runs the command may have any search path.
    for_each_row(
        "SELECT COALESCE(r.ev_class, c.objid), c.command_tag OPERATOR(pg_catalog.=) "
        "ANY ('{CREATE VIEW,CREATE RULE}'::pg_catalog.text[]) "
        "FROM pg_catalog.pg_event_trigger_ddl_commands() AS c "
        "LEFT JOIN pg_catalog.pg_rewrite AS r ON r.oid OPERATOR(pg_catalog.=) c.objid "
        "AND c.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass "
        "WHERE c.classid OPERATOR(pg_catalog.=) "
        "ANY ('{pg_catalog.pg_class,pg_catalog.pg_rewrite}'::pg_catalog.regclass[])",
        [](const auto& value) {
            const Oid view = DatumGetObjectId(value(1));
            const std::int64_t read = number_of_face(view);
            for (const FacedTable& table : {kFacesOfCounters, kFacesOfBudgets}) {
                check_is_kept(table, view, read, DatumGetBool(value(2)));
                // A restore, by a superuser, also changes views that others have made.
                if (read != 0 && superuser_arg(owner_of(view)))
                    keep_face(table, view);
            }
        });
    if (IsA(command, AlterExtensionStmt) || IsA(command, AlterExtensionContentsStmt))
        for_each_row(
            "SELECT d.objid FROM pg_catalog.pg_event_trigger_ddl_commands() AS c "
            "JOIN pg_catalog.pg_depend AS d ON d.refclassid OPERATOR(pg_catalog.=) c.classid "
            "AND d.refobjid OPERATOR(pg_catalog.=) c.objid "
            "WHERE c.command_tag OPERATOR(pg_catalog.=) 'ALTER EXTENSION' "
            "AND d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass "
            "AND d.deptype OPERATOR(pg_catalog.=) 'e'",
            [](const auto& value) { check_is_no_member(DatumGetObjectId(value(1))); });
    SPI_finish();
    PG_RETURN_NULL();
}

} // namespace dp_counter::pg
