// The end of a counter: dp_counter_drop, and DROP VIEW of its releases by any way.
#include "pg/live/counters_table.hpp"
#include "pg/live/events_table.hpp"
#include "pg/live/privileges.hpp"
#include "pg/live/releases_table.hpp"
#include "pg/live/releases_view.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
}

namespace dp_counter::pg {
namespace {

void remove(Oid releases) {
    lock_counter(releases);
    delete_releases(delete_counter(releases));
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
    remove(releases); // the event trigger would, were it not switched off
    drop_releases_view(releases);
    PG_RETURN_VOID();
}

/// Event trigger on sql_drop. It runs at every DROP in the database, by whomever.
DP_FUNCTION(dp_counter_dropped) {
    using namespace dp_counter::pg;
    if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("dp_counter_dropped is an event trigger function")));
    SPI_connect();
    // Nothing in it but this one function, qualified: whoever drops may have any search path.
    const int result = SPI_execute(
        "SELECT classid, objid, objsubid FROM pg_catalog.pg_event_trigger_dropped_objects()", true,
        0);
    if (result != SPI_OK_SELECT)
        elog(ERROR, "could not read the dropped objects: %s", SPI_result_code_string(result));
    for (uint64 i = 0; i < SPI_processed; ++i) {
        const auto column = [&](int number) {
            bool is_null = false;
            return SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, number, &is_null);
        };
        const Oid dropped = DatumGetObjectId(column(2));
        if (DatumGetObjectId(column(1)) == RelationRelationId && DatumGetInt32(column(3)) == 0 &&
            is_counter(dropped))
            remove(dropped);
    }
    SPI_finish();
    PG_RETURN_NULL();
}
