// The event trigger that keeps the extension from DROP OWNED, which would drop it with all budgets,
// without CASCADE and without a word: the event trigger for what is dropped is gone by then.
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
}

namespace dp_counter::pg {
namespace {

Oid owner_of_extension() {
    SPI_connect();
    const int result = SPI_execute("SELECT extowner FROM pg_catalog.pg_extension "
                                   "WHERE extname OPERATOR(pg_catalog.=) 'dp_counter'",
                                   true, 1);
    if (result != SPI_OK_SELECT || SPI_processed != 1)
        elog(ERROR, "could not find extension dp_counter");
    bool is_null = false;
    const Oid owner =
        DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
    SPI_finish();
    return owner;
}

} // namespace
} // namespace dp_counter::pg

/// Event trigger on ddl_command_start.
DP_FUNCTION(dp_counter_drop_owned) {
    using namespace dp_counter::pg;
    const Node* command = command_of_event(fcinfo, "dp_counter_drop_owned");
    if (!IsA(command, DropOwnedStmt))
        PG_RETURN_NULL();
    const Oid owner = owner_of_extension();
    const ListCell* cell = nullptr;
    foreach (cell, reinterpret_cast<const DropOwnedStmt*>(command)->roles)
        if (get_rolespec_oid(static_cast<const RoleSpec*>(lfirst(cell)), true) == owner)
            ereport(ERROR,
                    (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                     errmsg("cannot drop what role \"%s\" owns: it owns extension dp_counter",
                            GetUserNameFromId(owner, false)),
                     errdetail("All budgets and counters would go with the extension."),
                     errhint("Use REASSIGN OWNED first, or DROP EXTENSION dp_counter CASCADE.")));
    PG_RETURN_NULL();
}
