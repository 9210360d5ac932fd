#include <cstring>

#include "pg/worker/call.hpp"

#include "pg/server/commits.hpp"
#include "pg/worker/job.hpp"
#include "pg/worker/progress.hpp"

extern "C" {
#include "catalog/pg_proc.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#if PG_VERSION_NUM >= 180000
#include "utils/wait_event.h"
#endif
}

namespace dp_counter::pg {

namespace {

constexpr const char* kWorkerType = "dp_counter worker";
constexpr long kSlotTurn = 100; // ms between two tries to start it
constexpr int kSlotTurns = 100; // ten seconds

/// A worker that was started. Trivial.
struct Worker {
    dsm_segment* segment;
    BackgroundWorkerHandle* handle; ///< null once it has ended
    shm_mq_handle* answers;
};

/// Ends the worker, and waits until it is gone: what it would still do would surprise. Interrupts
/// wait for that, as they do for parallel workers. Nobody reads the queue any more: a worker whose
/// last words do not fit would wait for ever, were it not detached first.
void end_worker(int /*code*/, Datum argument) {
    auto* worker = reinterpret_cast<Worker*>(DatumGetPointer(argument));
    if (worker->handle != nullptr)
        TerminateBackgroundWorker(worker->handle);
    if (worker->segment != nullptr)
        dsm_detach(worker->segment);
    worker->segment = nullptr;
    if (worker->handle != nullptr) {
        HOLD_INTERRUPTS();
        (void)WaitForBackgroundWorkerShutdown(worker->handle);
        RESUME_INTERRUPTS();
        worker->handle = nullptr;
    }
    hide_phase();
}

/// Waits for the latch, at most this long; -1: as long as it takes.
void wait_for(long milliseconds) {
    const int timeout = milliseconds < 0 ? 0 : WL_TIMEOUT;
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | timeout, milliseconds,
                    PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

/// The file that the procedure's code is in, as CREATE FUNCTION has it.
const char* library_of(Oid procedure) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(procedure));
    bool is_null = true;
    const Datum library = HeapTupleIsValid(tuple)
                              ? SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null)
                              : 0;
    if (is_null)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                        errmsg("the function was dropped meanwhile")));
    const char* name = TextDatumGetCString(library);
    ReleaseSysCache(tuple);
    return name;
}

/// Shared memory for the job, which lasts over commits. With the worker this session is one lock
/// group, so that PostgreSQL sees a deadlock that leads through both.
void create_segment(const WorkerCall& call, Worker& worker) {
    BecomeLockGroupLeader();
    const Size queue = MAXALIGN(sizeof(Job)) + MAXALIGN(call.size);
    worker.segment = dsm_create(queue + kQueueBytes, 0);
    dsm_pin_mapping(worker.segment);
    auto* job = static_cast<Job*>(dsm_segment_address(worker.segment));
    *job = {kJobVersion,
            static_cast<std::uint32_t>(queue),
            static_cast<std::uint32_t>(call.size),
            MyDatabaseId,
            GetUserId(),
            GetSessionUserId(),
            call.owner,
            LockTimeout,
            MyProcPid,
            MyProc};
    std::memcpy(request_of(job), call.request, call.size);
    shm_mq* answers = shm_mq_create(reinterpret_cast<char*>(job) + queue, kQueueBytes);
    shm_mq_set_receiver(answers, MyProc);
    worker.answers = shm_mq_attach(answers, worker.segment, nullptr);
}

[[noreturn]] void raise_no_slot() {
    if (!IsUnderPostmaster)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("sources cannot be read in single-user mode"),
                        errdetail("They are read by a background worker.")));
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                    errmsg("no background worker is free to read the source"),
                    max_worker_processes == 0
                        ? errdetail("max_worker_processes is 0.")
                        : errdetail("All %d of max_worker_processes were busy for %ld seconds.",
                                    max_worker_processes, kSlotTurns * kSlotTurn / 1000),
                    errhint("Call again later. Set max_worker_processes to at least "
                            "max_parallel_workers + 2, so that parallel queries leave a worker.")));
}

/// One parallel query can take all workers for a while.
void start(const WorkerCall& call, const char* library, Worker& worker) {
    BackgroundWorker registration{};
    registration.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    registration.bgw_start_time = BgWorkerStart_ConsistentState;
    registration.bgw_restart_time = BGW_NEVER_RESTART;
    strlcpy(registration.bgw_library_name, library, sizeof registration.bgw_library_name);
    strlcpy(registration.bgw_function_name, call.entry, sizeof registration.bgw_function_name);
    snprintf(registration.bgw_name, sizeof registration.bgw_name, "%s for PID %d", kWorkerType,
             MyProcPid);
    strlcpy(registration.bgw_type, kWorkerType, sizeof registration.bgw_type);
    registration.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(worker.segment));
    registration.bgw_notify_pid = MyProcPid;
    for (int turn = 0; !RegisterDynamicBackgroundWorker(&registration, &worker.handle); ++turn) {
        if (!IsUnderPostmaster || max_worker_processes == 0 || turn == kSlotTurns)
            raise_no_slot();
        wait_for(kSlotTurn);
    }
    shm_mq_set_handle(worker.answers, worker.handle);
}

/// The next message, and null if the worker has ended.
const char* receive(const Worker& worker, Size& size) {
    for (;;) {
        void* data = nullptr;
        const shm_mq_result result = shm_mq_receive(worker.answers, &size, &data, true);
        if (result == SHM_MQ_SUCCESS)
            return static_cast<const char*>(data);
        if (result == SHM_MQ_DETACHED)
            return nullptr;
        wait_for(-1);
    }
}

/// The error of an 'E', which ends the worker where it was FATAL, and nothing here.
ErrorData* read_error(StringInfo message) {
    auto* error = static_cast<ErrorData*>(palloc0(sizeof(ErrorData)));
    pq_parse_errornotice(message, error);
    error->elevel = ERROR;
    return error;
}

ErrorData* no_answer() {
    auto* error = static_cast<ErrorData*>(palloc0(sizeof(ErrorData)));
    error->elevel = ERROR;
    error->sqlerrcode = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    error->message = pstrdup("the worker that reads the source ended without an answer");
    error->hint = pstrdup("The server's log may say why.");
    return error;
}

/// Handles messages until the worker is done or has ended: then says why. `memory` is reset after
/// each.
ErrorData* listen(const Worker& worker, void (*answered)(const Answer&, void*), void* context,
                  MemoryContext memory) {
    MemoryContext caller = MemoryContextSwitchTo(memory);
    Answer answer{};
    bool is_owners = false;
    bool is_done = false;
    Size size = 0;
    while (const char* data = is_done ? nullptr : receive(worker, size)) {
        StringInfoData message;
        initStringInfo(&message);
        appendBinaryStringInfo(&message, data, static_cast<int>(size));
        const char kind = static_cast<char>(pq_getmsgbyte(&message));
        if (kind == 'E') {
            MemoryContextSwitchTo(caller); // errors last
            (is_owners ? answer.owners_error : answer.error) = read_error(&message);
            MemoryContextSwitchTo(memory);
            is_owners = false;
        } else if (kind == 'N') {
            ErrorData notice{};
            pq_parse_errornotice(&message, &notice);
            ThrowErrorData(&notice);
        } else if (kind == kPhase) {
            show_phase_of_worker(pq_getmsgrawstring(&message));
        } else if (kind == kOwnersError) {
            is_owners = true;
        } else if (kind == kDone) {
            is_done = true;
        } else if (kind == kAnswer || kind == kFailed) {
            if (kind == kFailed && answer.error == nullptr)
                answer.error = no_answer();
            answer.size = static_cast<Size>(message.len - message.cursor);
            answer.bytes = message.data + message.cursor;
            hide_phase();
            AcceptInvalidationMessages(); // no lock was taken while it waited
            answered(answer, context);
            next_transaction();
            answer = {};
        }
        MemoryContextReset(memory); // a view can raise a message for each row
    }
    MemoryContextSwitchTo(caller);
    if (is_done)
        return nullptr;
    return answer.error == nullptr ? no_answer() : answer.error;
}

} // namespace

ErrorData* call_worker(const WorkerCall& call, void (*answered)(const Answer&, void*),
                       void* context) {
    MemoryContext caller = CurrentMemoryContext;
    MemoryContext memory =
        AllocSetContextCreate(caller, "dp_counter answers", ALLOCSET_DEFAULT_SIZES);
    const char* library = library_of(call.procedure);
    Worker worker{};
    ErrorData* volatile ended = nullptr;
    next_transaction(); // it holds no lock while it waits
    PG_ENSURE_ERROR_CLEANUP(end_worker, PointerGetDatum(&worker));
    {
        create_segment(call, worker);
        start(call, library, worker);
        ended = listen(worker, answered, context, memory);
        if (ended == nullptr) {
            (void)WaitForBackgroundWorkerShutdown(worker.handle);
            worker.handle = nullptr;
        }
    }
    PG_END_ENSURE_ERROR_CLEANUP(end_worker, PointerGetDatum(&worker));
    end_worker(0, PointerGetDatum(&worker));
    return ended;
}

} // namespace dp_counter::pg
