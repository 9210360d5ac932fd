// dp_counter_tick: closes a counter's open step and publishes its release.
//
// A release that anyone has seen must never be drawn again with other noise. So a tick is two
// transactions, both flushed to disk, and to synchronous standbys where there are any:
//   close    counts the events, draws the noise and stores the new state together with the release
//            where nobody can see it. Up to its commit nothing of the draw leaves this backend, and
//            a failure undoes all of it, unseen.
//   publish  shows the stored release to everybody. Whatever happens here, the release is not drawn
//            again: the next tick begins with publishing it. Many steps are closed and published in
// parts, so that a tick's memory has a bound. Both write to the extension's own tables alone, by
// direct access: no trigger, rule, policy or constraint of a user runs, and no role is changed.
// After a crash in between, the published releases lag one step behind, until the next tick.
#include <cstdint>

#include "pg/events/event_counter.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/progress.hpp"
#include "pg/sources/columns.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/steps/publish.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"

extern "C" {
#include "access/xact.h"
#include "commands/async.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

/// Locks the counter for this transaction, with the privilege checked under the lock, and reads it.
void open_counter(Oid counter, CounterRow& row) {
    LockRelationOid(counter, AccessShareLock); // against DROP
    check_counter_privilege(counter, kMayTick);
    lock_counter(counter);
    if (!read_counter(counter, row))
        raise_dropped();
}

/// The first transaction's work.
Closed close(Oid counter, CounterRow& row, TimestampTz called) {
    return has_source(counter) ? close_source_counter(counter, row, called)
                               : close_event_counter(counter, row, called);
}

/// Runs the transactions, two for each part of the steps, until all steps that this tick has closed
/// are published, by this tick or by a concurrent one. Returns the last step, or 0 if there is
/// nothing new.
std::int64_t tick(Oid counter, TimestampTz called) {
    Closed closed = Closed::nothing;
    std::int64_t closed_step = 0; // to be published
    std::int64_t last_step = 0;
    XLogRecPtr closed_at = InvalidXLogRecPtr;
    bool is_over = false;
    while (!is_over) {
        if (closed_step != 0)
            show_phase("publishing");
        next_transaction();
        if (closed_step != 0 && closed_at == InvalidXLogRecPtr)
            closed_at = XactLastCommitEnd;
        if (closed_step == 0) // this transaction may close
            lock_source_of(counter);
        CounterRow row;
        open_counter(counter, row);
        PushActiveSnapshot(GetTransactionSnapshot());
        bool is_published = published_steps(row.number) >= row.steps;
        if (!is_published) {
            // A step that another tick has closed was committed before the counter's lock was free.
            const bool is_own = row.steps == closed_step;
            publish(row, is_own ? closed_at : InvalidXLogRecPtr);
            last_step = row.steps;
            is_published = is_own;
        } else if (closed_step != 0) {
            last_step = row.steps;
        } else {
            closed = close(counter, row, called);
            is_over = closed == Closed::nothing;
            is_published = false;
            closed_step = is_over ? 0 : row.steps;
        }
        if (is_published) {
            is_over = closed == Closed::all;
            closed_step = 0;
            closed_at = InvalidXLogRecPtr;
        }
        PopActiveSnapshot();
    }
    SPI_commit();
    SPI_start_transaction();
    return last_step;
}

/// NOTIFY dp_counter, 'schema.name step', in a separate transaction. Skips it if the queue of
/// notifications is nearly full, rather than raise an error after the publication.
void notify(Oid counter, std::int64_t step) {
    constexpr double kFull = 0.9;
    if (DatumGetFloat8(OidFunctionCall0(F_PG_NOTIFICATION_QUEUE_USAGE)) < kFull &&
        SearchSysCacheExists1(RELOID, ObjectIdGetDatum(counter))) // not dropped meanwhile
        Async_Notify("dp_counter",
                     psprintf("%s %lld", quoted_name(counter), static_cast<long long>(step)));
    SPI_commit();
    SPI_start_transaction();
}

void tick_and_notify(Oid counter, TimestampTz called) {
    const std::int64_t step = tick(counter, called);
    if (step != 0)
        notify(counter, step);
}

/// Error context: which of several counters failed.
void name_counter(void* name) {
    errcontext("tick of counter \"%s\"", static_cast<const char*>(name));
}

constexpr const char* kWhyCommit =
    "A tick commits, since a release that was seen and then rolled back would be drawn again.";

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_tick) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo, "dp_counter_tick", kWhyCommit);
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_tick()");
    check_counter_privilege(counter, kMayTick);
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    const TimestampTz called = GetCurrentTimestamp();
    with_progress([&] { tick_and_notify(counter, called); });
    SPI_finish();
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_source_tick) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo, "dp_source_tick", kWhyCommit);
    const Oid source = read_relation(fcinfo->args[0], "source");
    PreventCommandIfReadOnly("dp_source_tick()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    const List* counters = counters_of_source(source);
    int ticked = 0;
    const TimestampTz called = GetCurrentTimestamp();
    with_progress([&] {
        ListCell* cell = nullptr;
        foreach (cell, counters) {
            const Oid counter = lfirst_oid(cell);
            char* name = get_rel_name(counter);
            if (name == nullptr || // dropped meanwhile
                pg_class_aclcheck(counter, GetUserId(), kMayTick) != ACLCHECK_OK)
                continue;
            ErrorContextCallback context{error_context_stack, name_counter, name};
            error_context_stack = &context;
            tick_and_notify(counter, called);
            error_context_stack = context.previous;
            ++ticked;
        }
    });
    SPI_finish();
    // Only the owner learns whether this is a source: a role that may tick none of its counters
    // must not.
    const bool is_own = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)) && is_owner(source);
    if (is_own)
        require_source(source);
    if (ticked == 0 && !(is_own && counters == NIL))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for all counters of the source"),
                        errhint("Ticking a counter requires the UPDATE privilege on it.")));
    PG_RETURN_VOID();
}
