// The guard on every releases table: INSERT and UPDATE privileges stand for recording and ticking,
// and shall not let anybody forge releases.
#include "pg/postgres_api.hpp"
#include "pg/releases_table.hpp"

extern "C" {
#include "commands/trigger.h"
#include "utils/rel.h"
}

/// BEFORE INSERT OR UPDATE FOR EACH STATEMENT. A tick writes as the table's owner.
DP_FUNCTION(dp_counter_guard) {
    using namespace dp_counter::pg;
    if (!CALLED_AS_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("dp_counter_guard is a trigger function")));
    const auto* data = reinterpret_cast<const TriggerData*>(fcinfo->context);
    if (!is_owner(RelationGetRelid(data->tg_relation)))
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                 errmsg("releases are written to \"%s\" by ticks alone",
                        RelationGetRelationName(data->tg_relation)),
                 errhint("The INSERT privilege lets a role call dp_counter_record, UPDATE lets it "
                         "call dp_counter_tick.")));
    PG_RETURN_POINTER(nullptr);
}
