// The end of a counter: dp_counter_drop, and DROP TABLE of its releases by any way.
#include "pg/counter_rows.hpp"
#include "pg/event_store.hpp"
#include "pg/postgres_api.hpp"
#include "pg/releases_table.hpp"

extern "C" {
#include "access/htup_details.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
}

namespace dp_counter::pg {
namespace {

void remove(Oid releases) {
    lock_counter(releases);
    delete_counter(releases);
    drop_event_slots(releases);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_drop) {
    using namespace dp_counter::pg;
    if (PG_ARGISNULL(0))
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("releases must not be null")));
    PreventCommandIfReadOnly("dp_counter_drop()");
    const Oid releases = PG_GETARG_OID(0);
    check_counter_owner(releases); // before the lock, so that nobody else can make others wait
    LockRelationOid(releases, AccessExclusiveLock);
    check_counter_owner(releases);
    const char* name = quoted_name(releases);
    remove(releases); // the event trigger would, were it not switched off
    SPI_connect();
    const int result = SPI_execute(psprintf("DROP TABLE %s", name), false, 0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not drop %s: %s", name, SPI_result_code_string(result));
    SPI_finish();
    PG_RETURN_VOID();
}

/// Event trigger on sql_drop. It runs at every DROP in the database, by whomever.
DP_FUNCTION(dp_counter_dropped) {
    using namespace dp_counter::pg;
    if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("dp_counter_dropped is an event trigger function")));
    SPI_connect();
    const int result = SPI_execute(
        "SELECT objid FROM pg_catalog.pg_event_trigger_dropped_objects() "
        "WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass "
        "AND objsubid OPERATOR(pg_catalog.=) 0",
        true, 0);
    if (result != SPI_OK_SELECT)
        elog(ERROR, "could not read the dropped objects: %s", SPI_result_code_string(result));
    for (uint64 i = 0; i < SPI_processed; ++i) {
        bool is_null = false;
        const Oid dropped = DatumGetObjectId(
            SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null));
        if (is_counter(dropped))
            remove(dropped);
    }
    SPI_finish();
    PG_RETURN_NULL();
}
