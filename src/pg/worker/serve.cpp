#include <unistd.h>

#include "pg/worker/serve.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/session_role.hpp"
#include "pg/worker/executor_hooks.hpp"
#include "pg/worker/job.hpp"
#include "pg/worker/only_reading.hpp"
#include "pg/worker/progress.hpp"
#include "pg/worker/settings.hpp"
#include "pg/worker/strangers.hpp"

extern "C" {
#include "access/xact.h"
#include "executor/spi.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "tcop/tcopprot.h"
#include "utils/resowner.h"
}

namespace dp_counter::pg {

namespace {

/// Null in other processes. For the process's life.
const Job* served = nullptr;

emit_log_hook_type next_log_hook = nullptr;

/// The caller raises errors and messages again, and logs them as its settings say. What is for the
/// log alone is logged here, such as lines of pgaudit.
void leave_to_caller(ErrorData* error) {
    if (error->elevel != LOG && error->elevel != LOG_SERVER_ONLY && error->elevel < FATAL)
        error->output_to_server = false;
    else if (next_log_hook != nullptr)
        next_log_hook(error);
}

/// What languages would run at the exit, as the END blocks of PL/Perl, is left out: nothing cancels
/// it, while the caller waits.
void leave(int code, Datum /*argument*/) {
    wipe_random();
    _exit(code);
}

/// pg_stat_io has a row for background workers, which is nearly ours alone: its counts would be
/// those of the pages that were read. Among client backends they do not show; but those count their
/// time in pg_stat_database, from a beginning that has to be reported.
void begin_exit(int /*code*/, Datum /*argument*/) {
    MyBackendType = B_BACKEND;
    if (OidIsValid(MyDatabaseId))
        pgstat_report_connect(MyDatabaseId);
    on_proc_exit(leave, 0); // the last one is the first that is called
}

/// Attaches to the memory that the caller has made, and joins its lock group; null if the caller
/// has gone.
Job* attach(Datum main_argument) {
    dsm_segment* segment = dsm_attach(DatumGetUInt32(main_argument));
    if (segment == nullptr)
        return nullptr;
    dsm_pin_mapping(segment);
    auto* job = static_cast<Job*>(dsm_segment_address(segment));
    auto* answers = reinterpret_cast<shm_mq*>(reinterpret_cast<char*>(job) + job->queue);
    shm_mq_set_sender(answers, MyProc);
    pq_redirect_to_shm_mq(segment, shm_mq_attach(answers, segment, nullptr));
    if (job->version != kJobVersion)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("this session has another version of dp_counter's library than its "
                               "worker"),
                        errhint("Reconnect: the library was replaced.")));
    return BecomeLockGroupMember(job->leader, job->leader_pid) ? job : nullptr;
}

/// To the database, as nobody: the owner's right to connect does not matter, as it does not for
/// REFRESH by others. is_superuser says what the owner is, for the view reads it.
void connect(const Job& job) {
    BackgroundWorkerInitializeConnectionByOid(job.database, InvalidOid, 0);
    (void)SetClientEncoding(GetDatabaseEncoding());
    fix_settings_of_worker(job.lock_timeout);
    StartTransactionCommand();
    const bool is_superuser = superuser_arg(job.owner);
    SetSessionAuthorization(job.owner, is_superuser);
    SetCurrentRoleId(job.caller, is_superuser);
    callers_session_role = job.session;
    CommitTransactionCommand();
}

/// As an ereport would.
void send_error(ErrorData* error) {
    error->output_to_client = true; // also where it was raised while the view was not heard
    PG_TRY();
    { ReThrowError(error); }
    PG_CATCH();
    {
        EmitErrorReport();
        FlushErrorState();
    }
    PG_END_TRY();
}

MemoryContext lasting = nullptr; // of the worker's own
bool counts = false;             // track_counts, as it began

/// SPI keeps what it has beyond a transaction in PortalContext.
void begin_work() {
    StartTransactionCommand();
    PortalContext = AllocSetContextCreate(lasting, "dp_counter SPI", ALLOCSET_SMALL_SIZES);
    SPI_connect_ext(SPI_OPT_NONATOMIC);
}

} // namespace

bool is_worker() {
    return served != nullptr;
}

bool serves(Oid owner) {
    return served != nullptr && served->owner == owner;
}

void send(char kind, const void* bytes, Size size) {
    StringInfoData message;
    pq_beginmessage(&message, kind);
    pq_sendbytes(&message, static_cast<const char*>(bytes), static_cast<int>(size));
    pq_endmessage(&message);
}

void answer(const void* bytes, Size size) {
    hide_phase();
    send(kAnswer, bytes, size);
}

void tell_owner(ErrorData* error) {
    send(kOwnersError, nullptr, 0);
    send_error(error);
}

void answer_error(ErrorData* error) {
    hide_phase();
    send_error(error);
    send(kFailed, nullptr, 0);
}

ErrorData* recover_in_worker() {
    ErrorData* error = CopyErrorData();
    FlushErrorState();
    HOLD_INTERRUPTS();
    whereToSendOutput = DestRemote; // an error in the view has left it quiet
    pgstat_track_counts = false;    // it counts the files of a sort
    AbortCurrentTransaction();      // with the SPI levels that the view's functions have opened
    pgstat_track_counts = counts;   // the view's settings were made within without_statistics
    RESUME_INTERRUPTS();
    MemoryContextDelete(PortalContext); // or each failure would leave some
    begin_work();
    return error;
}

void serve(Datum main_argument, void (*work)(const char* request, Size size)) {
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    CurrentResourceOwner = ResourceOwnerCreate(nullptr, "dp_counter worker");
    MemoryContextSwitchTo(TopMemoryContext);
    before_shmem_exit(begin_exit, 0);
    next_log_hook = emit_log_hook;
    emit_log_hook = leave_to_caller;
    Job* job = attach(main_argument);
    if (job == nullptr)
        return;
    connect(*job);
    counts = pgstat_track_counts;
    served = job;
    quiet_executor_hooks();
    refuse_strangers(job->owner);
    refuse_all_but_reading();
    lasting = AllocSetContextCreate(TopMemoryContext, "dp_counter worker", ALLOCSET_DEFAULT_SIZES);
    begin_work();
    MemoryContextSwitchTo(lasting);
    work(request_of(job), job->size);
    SPI_finish();
    CommitTransactionCommand();
    PortalContext = nullptr;
    send(kDone, nullptr, 0);
}

} // namespace dp_counter::pg
