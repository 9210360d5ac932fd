#include "pg/live/standbys.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
}

namespace dp_counter::pg {

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
#if PG_VERSION_NUM >= 150000
    const XLogRecPtr end = GetFlushRecPtr(nullptr);
#else
    const XLogRecPtr end = GetFlushRecPtr();
#endif
    HOLD_INTERRUPTS(); // as at a commit
    SyncRepWaitForLSN(end, true);
    RESUME_INTERRUPTS();
    return standbys_have(end);
}

} // namespace dp_counter::pg
