// The event trigger that keeps the extension from DROP OWNED, which would drop it with all budgets,
// without CASCADE and without a word: the event trigger for what is dropped is gone by then.
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "executor/spi.h"
#include "utils/acl.h"
}

namespace dp_counter::pg {
namespace {

/// Of the extension or, under CASCADE, of its schema.
bool owns_extension(Oid role, bool cascades) {
    SPI_connect();
    Oid types[] = {OIDOID, BOOLOID};
    Datum values[] = {ObjectIdGetDatum(role), BoolGetDatum(cascades)};
    const int result = SPI_execute_with_args(
        "SELECT FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n "
        "ON n.oid OPERATOR(pg_catalog.=) e.extnamespace "
        "WHERE e.extname OPERATOR(pg_catalog.=) 'dp_counter' "
        "AND (e.extowner OPERATOR(pg_catalog.=) $1 OR n.nspowner OPERATOR(pg_catalog.=) $1 AND $2)",
        lengthof(types), types, values, nullptr, true, 1);
    if (result != SPI_OK_SELECT)
        elog(ERROR, "could not find extension dp_counter");
    const bool owns = SPI_processed > 0;
    SPI_finish();
    return owns;
}

} // namespace

/// Event trigger on ddl_command_start.
DP_FUNCTION(dp_counter_drop_owned) {
    const Node* command = command_of_event(fcinfo, "dp_counter_drop_owned");
    if (!IsA(command, DropOwnedStmt))
        PG_RETURN_NULL();
    const auto* drop = reinterpret_cast<const DropOwnedStmt*>(command);
    const ListCell* cell = nullptr;
    foreach (cell, drop->roles) {
        const Oid role = get_rolespec_oid(static_cast<const RoleSpec*>(lfirst(cell)), true);
        if (owns_extension(role, drop->behavior == DROP_CASCADE))
            ereport(
                ERROR,
                (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                 errmsg("cannot drop what role \"%s\" owns: it owns extension dp_counter or its "
                        "schema",
                        GetUserNameFromId(role, false)),
                 errdetail("All budgets and counters would go with the extension."),
                 errhint("Use REASSIGN OWNED first, or DROP EXTENSION dp_counter CASCADE.")));
    }
    PG_RETURN_NULL();
}

} // namespace dp_counter::pg
