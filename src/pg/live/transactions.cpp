#include "pg/live/transactions.hpp"

extern "C" {
#include "access/xact.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "utils/guc.h"
}

namespace dp_counter::pg {

void check_can_commit(FunctionCallInfo fcinfo, const char* procedure, const char* detail) {
    const auto* context = reinterpret_cast<const CallContext*>(fcinfo->context);
    if (context == nullptr || !IsA(context, CallContext) || context->atomic)
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
             errmsg("%s cannot run inside a transaction block", procedure), errdetail("%s", detail),
             errhint("CALL it by itself, outside BEGIN ... COMMIT and outside functions; from a "
                     "driver's connection in autocommit mode.")));
}

void next_transaction() {
    SPI_commit();
    SPI_start_transaction();
    XactIsoLevel = XACT_READ_COMMITTED; // as SET TRANSACTION does; no snapshot has been taken
    ForceSyncCommit();
    if (synchronous_commit < SYNCHRONOUS_COMMIT_ON)
        (void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_LOCAL, true, 0, false);
}

} // namespace dp_counter::pg
