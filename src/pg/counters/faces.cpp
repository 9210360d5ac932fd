// The event trigger that keeps the views of counters and budgets as they were made.
//
// By another query such a view could depend on a temporary object and go with it at the end of a
// transaction, when no event trigger runs: a budget would be forgotten that was spent from.
#include "pg/tables/faces.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/htup_details.h"
#include "executor/spi.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {
namespace {

/// `read` is the number whose rows the view reads now.
void check_is_kept(const FacedTable& table, Oid view, std::int64_t read) {
    const std::int64_t number = number_kept_with(table, view);
    if (number != 0 && number != read)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("cannot replace the query of view \"%s\"", get_rel_name(view)),
                 errdetail("It is the view of a counter or a budget, which is found by its query. "
                           "It stays a security barrier, too."),
                 errhint("Create another view over it.")));
}

} // namespace
} // namespace dp_counter::pg

/// Event trigger on ddl_command_end, for the commands that change or make a view.
DP_FUNCTION(dp_counter_replaced) {
    using namespace dp_counter::pg;
    (void)command_of_event(fcinfo, "dp_counter_replaced");
    SPI_connect();
    // All names are qualified: the role that runs the command may have any search path.
    const int result = SPI_execute(
        "SELECT COALESCE(r.ev_class, c.objid) "
        "FROM pg_catalog.pg_event_trigger_ddl_commands() AS c "
        "LEFT JOIN pg_catalog.pg_rewrite AS r ON r.oid OPERATOR(pg_catalog.=) c.objid "
        "AND c.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass "
        "WHERE c.classid OPERATOR(pg_catalog.=) "
        "ANY ('{pg_catalog.pg_class,pg_catalog.pg_rewrite}'::pg_catalog.regclass[])",
        true, 0);
    if (result != SPI_OK_SELECT)
        elog(ERROR, "could not read the commands: %s", SPI_result_code_string(result));
    for (uint64 i = 0; i < SPI_processed; ++i) {
        bool is_null = false;
        const Oid view = DatumGetObjectId(
            SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null));
        const std::int64_t read = number_of_face(view);
        for (const FacedTable& table : {kFacesOfCounters, kFacesOfBudgets}) {
            check_is_kept(table, view, read);
            if (read != 0)
                keep_face(table, view);
        }
    }
    SPI_finish();
    PG_RETURN_NULL();
}
