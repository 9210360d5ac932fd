// dp_counter_tick: closes a counter's open step and publishes its release.
//
// A release that anyone has seen must never be drawn again with other noise. So a tick is two
// transactions, both flushed to disk:
//   close    counts the events, draws the noise and stores the new state together with the release
//   in the
//            extension's own table, by direct access: no trigger, rule, policy or constraint of a
//            user runs, nobody can see the row. Up to its commit nothing of the draw leaves this
//            backend, and a failure undoes all of it, unseen.
//   publish  copies the stored release into the releases table, as that table's owner. Whatever
//   happens
//            here, the release is not drawn again: the next tick begins with publishing it.
// After a crash in between, the table of releases lags one step behind, until the next tick.
#include <cstdint>

#include <sodium.h>

#include "pg/counter_rows.hpp"
#include "pg/event_store.hpp"
#include "pg/postgres_api.hpp"
#include "pg/releases_table.hpp"
#include "pg/secret_memory.hpp"
#include "pg/stored_state.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

void check_can_commit(FunctionCallInfo fcinfo) {
    const auto* context = reinterpret_cast<const CallContext*>(fcinfo->context);
    if (context == nullptr || !IsA(context, CallContext) || context->atomic)
        ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
                        errmsg("dp_counter_tick cannot run inside a transaction block"),
                        errdetail("A tick commits: a release that was seen and then rolled back "
                                  "would be drawn a second time."),
                        errhint("CALL it by itself, outside BEGIN ... COMMIT and outside "
                                "functions.")));
}

/// Commits and starts a transaction that will be flushed, to synchronous standbys as well, and that
/// sees at every statement what has been committed by then, whatever the session's defaults are.
void next_transaction() {
    SPI_commit();
    SPI_start_transaction();
    XactIsoLevel = XACT_READ_COMMITTED; // as SET TRANSACTION does; no snapshot has been taken
    ForceSyncCommit();
    if (synchronous_commit < SYNCHRONOUS_COMMIT_ON)
        (void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_LOCAL, true, 0, false);
}

void check_is_permanent(Oid releases) {
    if (get_rel_persistence(releases) != RELPERSISTENCE_PERMANENT)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("releases table \"%s\" is not crash-safe", get_rel_name(releases)),
                        errhint("ALTER TABLE ... SET LOGGED.")));
}

/// Locks the counter for this transaction, with the privilege checked under the lock, and reads it.
void open_counter(Oid releases, CounterRow& row) {
    LockRelationOid(releases, AccessShareLock); // against DROP
    check_counter_privilege(releases, kMayTick);
    check_is_permanent(releases);
    lock_counter(releases);
    if (!read_counter(releases, row))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("the counter was dropped")));
}

/// The first transaction's work.
std::int64_t close(Oid releases, CounterRow& row) {
    CounterRelease release;
    ReleaseInterval interval;
    const int128 total = total_events(releases);
    const StoredState next =
        close_step(CurTransactionContext, row.state, row.steps, total, release, interval);
    CounterRow closed = row;
    closed.state = next.bytes;
    closed.steps = release.step;
    closed.released_at = GetCurrentTimestamp();
    closed.count = release.count;
    closed.stddev = release.stddev;
    closed.low = interval.low;
    closed.high = interval.high;
    closed.published = false;
    update_counter(releases, next.plan, closed);
    return release.count;
}

void insert_release(Oid releases, const CounterRow& row) {
    Oid types[] = {INT8OID, TIMESTAMPTZOID, INT8OID, FLOAT8OID, INT8OID, INT8OID};
    Datum values[] = {Int64GetDatum(row.steps), TimestampTzGetDatum(row.released_at),
                      Int64GetDatum(row.count), Float8GetDatum(row.stddev),
                      Int64GetDatum(row.low),   Int64GetDatum(row.high)};
    // Should the owner have written a row of this step, the release takes its place.
    const char* statement =
        psprintf("INSERT INTO %s (step, released_at, count, stddev, low, high) "
                 "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (step) DO UPDATE "
                 "SET released_at = EXCLUDED.released_at, count = EXCLUDED.count, "
                 "stddev = EXCLUDED.stddev, low = EXCLUDED.low, high = EXCLUDED.high",
                 quoted_name(releases));
    const int result =
        SPI_execute_with_args(statement, lengthof(values), types, values, nullptr, false, 0);
    if (result != SPI_OK_INSERT || SPI_processed != 1)
        ereport(ERROR,
                (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                 errmsg("releases table \"%s\" does not take the release", get_rel_name(releases)),
                 errhint("A trigger or a rule of the table turns rows away.")));
}

Oid owner_of(Oid relation) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for relation %u", relation);
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    return owner;
}

void explain_publication(void* argument) {
    const auto* row = static_cast<const CounterRow*>(argument);
    errcontext("publication of step %lld, which is closed; the next tick tries again",
               static_cast<long long>(row->steps));
}

/// The second transaction's work. The table may have triggers: they run as its owner, in a
/// security-restricted operation and with a search path that the caller did not choose. What they
/// see is the stored release. Where this fails, the transaction's abort restores the user.
void publish(Oid releases, const CounterRow& row) {
    ErrorContextCallback context;
    context.callback = explain_publication;
    context.arg = const_cast<CounterRow*>(&row);
    context.previous = error_context_stack;
    error_context_stack = &context;

    Oid user = InvalidOid;
    int security = 0;
    GetUserIdAndSecContext(&user, &security);
    SetUserIdAndSecContext(owner_of(releases), security | SECURITY_LOCAL_USERID_CHANGE |
                                                   SECURITY_RESTRICTED_OPERATION |
                                                   SECURITY_NOFORCE_RLS);
    const int settings = NewGUCNestLevel();
    (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    insert_release(releases, row);
    AtEOXact_GUC(false, settings);
    SetUserIdAndSecContext(user, security);
    error_context_stack = context.previous;

    mark_published(releases);
}

/// Runs the transactions until the step that this tick has closed is published, be it by this tick
/// or by another one that came in between.
std::int64_t tick(Oid releases) {
    std::int64_t closed_step = 0;
    std::int64_t released = 0;
    bool is_published = false;
    while (!is_published) {
        next_transaction();
        CounterRow row;
        open_counter(releases, row);
        PushActiveSnapshot(GetTransactionSnapshot());
        if (!row.published) {
            publish(releases, row);
            is_published = row.steps == closed_step;
        } else if (closed_step != 0) {
            is_published = true;
        } else {
            released = close(releases, row);
            closed_step = row.steps + 1;
        }
        PopActiveSnapshot();
    }
    SPI_commit();
    SPI_start_transaction();
    return released;
}

Datum make_result(FunctionCallInfo fcinfo, std::int64_t released) {
    TupleDesc description = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &description) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "dp_counter_tick must be a procedure with one output");
    description = BlessTupleDesc(description);
    Datum value = Int64GetDatum(released);
    bool is_null = false;
    return HeapTupleGetDatum(heap_form_tuple(description, &value, &is_null));
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_tick) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo);
    if (PG_ARGISNULL(0))
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("releases must not be null")));
    const Oid releases = PG_GETARG_OID(0);
    PreventCommandIfReadOnly("dp_counter_tick()");
    check_counter_privilege(releases, kMayTick);
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    const std::int64_t released = tick(releases);
    SPI_finish();
    return make_result(fcinfo, released);
}
