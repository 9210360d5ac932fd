#include <cstdint>
#include <cstring>

#include "pg/worker/deadlock.hpp"

extern "C" {
#include "utils/array.h"
#include "utils/backend_status.h"
#include "utils/fmgrprotos.h"
}

namespace dp_counter::pg {

namespace {

const PgBackendStatus& session(int i) {
#if PG_VERSION_NUM >= 160000
    return pgstat_get_local_beentry_by_index(i)->backendStatus;
#else
    return pgstat_fetch_stat_local_beentry(i)->backendStatus;
#endif
}

/// The worker that the process waits for, if it is a caller; 0 if it is none.
int worker_of(int pid) {
    const char* name = name_of_worker(pid);
    for (int i = 1; i <= pgstat_fetch_stat_numbackends(); ++i) {
        if (std::strcmp(session(i).st_appname, name) != 0)
            continue;
        const char* type = GetBackgroundWorkerTypeByPid(session(i).st_procpid);
        if (type != nullptr && std::strcmp(type, kWorkerType) == 0) // anybody may take the name
            return session(i).st_procpid;
    }
    return 0;
}

/// Whether the process waits for a lock that this session holds, at once or by way of others, be
/// they callers that wait for their workers. Looks at each process once: there are more ways than
/// processes, 2^n where n wait for one lock.
bool waits_for_this(int pid) {
    List* waiting = list_make1_int(pid); // it grows while it is read
    for (int i = 0; i < list_length(waiting); ++i) {
        CHECK_FOR_INTERRUPTS();
        ArrayType* blockers = DatumGetArrayTypeP(
            DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(list_nth_int(waiting, i))));
        const auto* pids = reinterpret_cast<const std::int32_t*>(ARR_DATA_PTR(blockers));
        const int count = ArrayGetNItems(ARR_NDIM(blockers), ARR_DIMS(blockers));
        for (int j = 0; j < count; ++j) {
            if (pids[j] == MyProcPid)
                return true;
            waiting = list_append_unique_int(waiting, pids[j]);
        }
        if (const int worker = worker_of(list_nth_int(waiting, i)); worker != 0)
            waiting = list_append_unique_int(waiting, worker);
    }
    return false;
}

} // namespace

const char* name_of_worker(int caller) {
    return psprintf("%s for PID %d", kWorkerType, caller);
}

void check_deadlock(BackgroundWorkerHandle* worker) {
    pid_t pid = 0;
    if (GetBackgroundWorkerPid(worker, &pid) != BGWH_STARTED)
        return;
    MemoryContext memory =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter deadlock", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    pgstat_clear_backend_activity_snapshot(); // of the look before
    const bool is_deadlock = waits_for_this(pid);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(memory);
    if (is_deadlock)
        ereport(ERROR, (errcode(ERRCODE_T_R_DEADLOCK_DETECTED), errmsg("deadlock detected"),
                        errdetail("The worker that reads the source waits for a lock that this "
                                  "session holds."),
                        errhint("Release the session's advisory locks before the call.")));
}

} // namespace dp_counter::pg
