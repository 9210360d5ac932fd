// dp_counter_create: a new counter and the table of its releases.
#include <cstdint>

#include "pg/arguments.hpp"
#include "pg/counter_rows.hpp"
#include "pg/event_store.hpp"
#include "pg/postgres_api.hpp"
#include "pg/releases_table.hpp"
#include "pg/stored_state.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"
}

namespace dp_counter::pg {
namespace {

enum ArgumentIndex { kReleases, kEpsilon, kHorizon, kK, kMechanism };

/// The table that CREATE TABLE makes for this name: in the schema named, or else in the first one
/// of the search path.
RangeVar* parse_name(text* name) {
    RangeVar* table = makeRangeVarFromNameList(textToQualifiedNameList(name));
    const Oid schema = RangeVarGetCreationNamespace(table);
    if (isTempNamespace(schema))
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("the releases table of a counter cannot be temporary"),
                        errhint("A release that is lost would be published a second time, with "
                                "other noise.")));
    table->schemaname = get_namespace_name(schema);
    return table;
}

void execute(const char* statement) {
    const int result = SPI_execute(statement, false, 0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not execute \"%s\": %s", statement, SPI_result_code_string(result));
}

/// Makes the table, as the current user.
Oid create_table(const RangeVar* table, const char* own_schema) {
    const char* name = quote_qualified_identifier(table->schemaname, table->relname);
    SPI_connect();
    execute(psprintf("CREATE TABLE %s ("
                     "step pg_catalog.int8 PRIMARY KEY, "
                     "released_at pg_catalog.timestamptz NOT NULL, "
                     "count pg_catalog.int8 NOT NULL, "
                     "stddev pg_catalog.float8 NOT NULL, "
                     "low pg_catalog.int8 NOT NULL, "
                     "high pg_catalog.int8 NOT NULL)",
                     name));
    execute(psprintf("CREATE TRIGGER dp_counter_guard BEFORE INSERT OR UPDATE ON %s "
                     "FOR EACH STATEMENT EXECUTE FUNCTION %s()",
                     name, quote_qualified_identifier(own_schema, "dp_counter_guard")));
    SPI_finish();
    return get_relname_relid(table->relname, get_namespace_oid(table->schemaname, false));
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_create) {
    using namespace dp_counter;
    using namespace dp_counter::pg;
    if (PG_ARGISNULL(kReleases))
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("releases must not be null"),
                 errhint("Give the name of the table to be made.")));
    Parameters parameters{};
    parameters.epsilon = read_epsilon(fcinfo->args[kEpsilon]);
    read_horizon(parameters, fcinfo->args[kHorizon]);
    read_k(parameters, fcinfo->args[kK]);
    read_mechanism(parameters, fcinfo->args[kMechanism]);

    Request request{0, Epsilon(1), {}, {}};
    const StoredState state = new_state(CurrentMemoryContext, parameters, request);
    const char* own_schema = get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
    const Oid releases = create_table(parse_name(PG_GETARG_TEXT_PP(kReleases)), own_schema);
    insert_counter(releases, request, state.plan, state.bytes);
    create_event_slots(releases);
    PG_RETURN_OID(releases);
}
