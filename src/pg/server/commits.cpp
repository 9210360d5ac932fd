#include <utility>

#include "pg/server/commits.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "nodes/parsenodes.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
#include "utils/guc.h"
}

namespace dp_counter::pg {

void check_can_commit(FunctionCallInfo fcinfo, const char* procedure, const char* detail) {
    const auto* context = reinterpret_cast<const CallContext*>(fcinfo->context);
    if (context == nullptr || !IsA(context, CallContext) || context->atomic)
        ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
                        errmsg("%s cannot run inside a transaction block", procedure),
                        errdetail("%s", detail),
                        errhint("CALL it outside BEGIN ... COMMIT and outside functions. In a "
                                "driver, use autocommit mode.")));
}

namespace {

bool is_ending = false; // the transaction

} // namespace

bool next_transaction() {
    const bool has_id = TransactionIdIsValid(GetTopTransactionIdIfAny());
    is_ending = true;
    SPI_commit();
    is_ending = false;
    SPI_start_transaction();
    XactIsoLevel = XACT_READ_COMMITTED; // as SET TRANSACTION does; no snapshot has been taken
    ForceSyncCommit();
    if (synchronous_commit < SYNCHRONOUS_COMMIT_ON)
        (void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_LOCAL, true, 0, false);
    return !has_id || standbys_have(XactLastCommitEnd);
}

bool has_failed_to_commit() {
    return std::exchange(is_ending, false);
}

bool standbys_have(XLogRecPtr end) {
    const bool is_synchronous =
        SyncRepRequested() && SyncRepStandbyNames != nullptr && SyncRepStandbyNames[0] != '\0';
    if (!is_synchronous)
        return true;
    LWLockAcquire(SyncRepLock, LW_SHARED);
    const XLogRecPtr flushed = WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH];
    LWLockRelease(SyncRepLock);
    return end <= flushed;
}

bool await_standbys() {
    const XLogRecPtr end = GetFlushRecPtr(nullptr);
    HOLD_INTERRUPTS(); // as at a commit
    SyncRepWaitForLSN(end, true);
    RESUME_INTERRUPTS();
    return standbys_have(end);
}

} // namespace dp_counter::pg
