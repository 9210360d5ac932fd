// A tick: closes a counter's open step and publishes its release.
//
// A release that anyone has seen must never be drawn again with other noise. So a tick is two
// transactions, both flushed to disk, and to synchronous standbys where there are any:
//   close    counts the events, draws the noise and stores the new state together with the release
//            where nobody can see it. Up to its commit nothing of the draw leaves this backend, and
//            a failure undoes all of it, unseen.
//   publish  shows the stored release to everybody. Whatever happens here, the release is not drawn
//            again: the next tick begins with publishing it.
// Both write to the extension's own tables alone, by direct access: no trigger, rule, policy or
// constraint of a user runs, and no role is changed. Many steps are closed and published in parts,
// two transactions for each, so that a tick's memory has a bound. After a crash in between, the
// published releases lag one part behind, until the next tick.

#include "pg/counters/tick.hpp"

#include "pg/events/event_counter.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/commits.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/steps/publish.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/worker/progress.hpp"

extern "C" {
#include "access/xact.h"
#include "commands/async.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {
namespace {

/// Locks the counter for this transaction, with the privilege checked under the lock.
OpenCounter open_counter(Oid view) {
    LockRelationOid(view, AccessShareLock);  // against DROP
    check_counter_privilege(view, kMayTick); // so that nobody else can make others wait
    const auto found = lock_counter(view);
    check_privilege(view, kMayTick);
    return require_running(found);
}

/// Raises object_not_in_prerequisite_state if the last tick was called an hour or more from now: it
/// may have closed periods that are not over. Not from the call: another tick may have come since.
void check_clock(const OpenCounter& counter) {
    const CounterRow& row = counter.row;
    if (row.steps > 0 && GetCurrentTimestamp() <= row.released_at - USECS_PER_HOUR)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("the last tick of counter \"%s\" was called at a later time than now",
                        get_rel_name(counter.view)),
                 errdetail("It was called at %s.", timestamptz_to_str(row.released_at)),
                 errhint("If the server's clock was ahead then, periods that were not over are "
                         "closed, and count nothing else. Wait until that time, or end the counter "
                         "with dp_counter_end and create another one.")));
}

/// The first transaction's work.
Closed close(OpenCounter& counter, const TickCall& call) {
    check_is_here(counter);
    if (counter.declared || counter.row.has_every)
        check_clock(counter);
    if (counter.declared)
        return close_source_counter(counter, call.at);
    return call.is_alone || is_step_due(counter.row, call.at)
               ? close_event_counter(counter, call.at)
               : Closed::nothing;
}

/// The steps that were published; the same twice if none was.
struct Published {
    std::int64_t after;
    std::int64_t last;
    bool is_more_due;
};

/// How many parts of the steps a call for many counters closes: a counter that has years to catch
/// up with goes on at the next call, and the others do not wait for it.
constexpr int kMostParts = 2;

/// What a transaction of a tick does, once the steps that others have closed are published.
enum class Phase {
    close,   ///< steps that are due
    publish, ///< those that this tick has closed
    over,
};

/// Runs the transactions, two for each part of the steps, until all steps that this tick has closed
/// are published, by this tick or by a concurrent one.
Published tick(Oid view, const TickCall& call) {
    Phase phase = Phase::close;
    Closed closed = Closed::nothing;
    std::int64_t closed_step = 0; // the last step that this tick has closed
    XLogRecPtr closed_at = InvalidXLogRecPtr;
    Published ticked{-1, -1, false};
    int parts = 0;
    while (phase != Phase::over) {
        if (phase == Phase::publish)
            show_phase("publishing");
        next_transaction();
        if (phase == Phase::publish && closed_at == InvalidXLogRecPtr)
            closed_at = XactLastCommitEnd;
        if (phase == Phase::close)
            lock_source_of(view);
        OpenCounter counter = open_counter(view);
        const CounterRow& row = counter.row;
        PushActiveSnapshot(GetTransactionSnapshot());
        const std::int64_t published = published_steps(row.number);
        if (ticked.after < 0)
            ticked = {published, published, false};
        // A step that another tick has closed was committed before the counter's lock was free.
        const bool is_own = phase == Phase::publish && row.steps == closed_step;
        const bool is_pending = published < row.steps;
        if (is_pending)
            publish(row, is_own ? closed_at : InvalidXLogRecPtr);
        if (is_pending || phase == Phase::publish)
            ticked.last = row.steps;
        if (phase == Phase::close && !is_pending) {
            closed = close(counter, call);
            closed_step = row.steps;
            closed_at = InvalidXLogRecPtr;
            if (closed != Closed::marked)
                phase = closed == Closed::nothing ? Phase::over : Phase::publish;
        } else if (phase == Phase::publish && (is_own || !is_pending)) {
            ticked.is_more_due = closed == Closed::part && ++parts == kMostParts && !call.is_alone;
            phase = closed == Closed::all || ticked.is_more_due ? Phase::over : Phase::close;
        }
        if (phase == Phase::over && row.has_failed)
            forget_failure(row.number);
        PopActiveSnapshot();
    }
    commit_tick(call);
    return ticked;
}

/// NOTIFY dp_counter, 'schema.name step'. Skips it if the queue of notifications is nearly full,
/// rather than raise an error after the publication.
void notify(Oid counter, std::int64_t step) {
    constexpr double kFull = 0.9;
    if (DatumGetFloat8(OidFunctionCall0(F_PG_NOTIFICATION_QUEUE_USAGE)) < kFull)
        Async_Notify("dp_counter",
                     psprintf("%s %lld", quoted_name(counter), static_cast<long long>(step)));
}

/// What follows the publication, in a transaction of its own.
void announce(Oid view, const Published& published, const TickCall& call, Ticked& ticked) {
    (void)GetCurrentTransactionId();        // a notification takes one at the commit
    LockRelationOid(view, AccessShareLock); // its name may not go before it is told
    PushActiveSnapshot(GetTransactionSnapshot());
    const auto counter = find_counter(view);
    if (counter && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(view))) { // not dropped meanwhile
        notify(view, published.last);
        ticked.steps = published.last - published.after;
        ticked.is_more_due = published.is_more_due;
        ticked.has_periods = counter->declared.has_value();
        OpenPeriod period;
        ticked.has_next = find_open_period(*counter, call.at, period);
        ticked.next_ends = ticked.has_next ? period.ends : 0;
    }
    PopActiveSnapshot();
    commit_tick(call);
}

} // namespace

void commit_tick(const TickCall& call) {
    if (!next_transaction() && !call.is_alone)
        ereport(ERROR, (errcode(ERRCODE_OPERATOR_INTERVENTION),
                        errmsg("synchronous standbys have not confirmed the last commit"),
                        errdetail("The counters that follow were not ticked."),
                        errhint("Nothing is lost. The next tick goes on.")));
}

Ticked tick_counter(Oid counter, const TickCall& call) {
    Ticked ticked{};
    const Published published = tick(counter, call);
    if (published.last > published.after)
        announce(counter, published, call, ticked);
    next_transaction();
    return ticked;
}

} // namespace dp_counter::pg
