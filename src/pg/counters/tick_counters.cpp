#include <cstring>

#include "pg/counters/tick_counters.hpp"

#include "pg/counters/tick_worker.hpp"
#include "pg/server/attempt.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/worker/call.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {
namespace {

/// Trivial.
struct Round {
    Oid procedure;
    TickCall call;
    void (*failed)(Oid counter, ErrorData* error, void* context);
    void* context;
    int ticked;
    char name[4 * NAMEDATALEN + 4]; ///< of the counter whose turn it is; may be empty
    ErrorContextCallback* outer;    ///< the error context of the call
};

/// Stores that the tick failed, for those who may tick the counter.
void note_failure(Oid counter, const TickCall& call, int sqlstate) {
    PushActiveSnapshot(GetTransactionSnapshot());
    store_failure(counter, call.at, sqlstate);
    PopActiveSnapshot();
    commit_tick(call);
}

/// Reports to the caller how many steps were published and when the next period ends.
void tell(Oid counter, const Ticked& ticked) {
    const char* next = "";
    if (ticked.is_more_due)
        next = ", more are due; the next call goes on";
    else if (ticked.has_periods)
        next = ticked.has_next
                   ? psprintf(", the next one ends %s",
                              DatumGetCString(DirectFunctionCall1(
                                  timestamptz_out, TimestampTzGetDatum(ticked.next_ends))))
                   : ", no further one follows";
    ereport(NOTICE,
            (errmsg("%s: %lld %s%s released%s", shown_name(counter),
                    static_cast<long long>(ticked.steps), ticked.has_periods ? "period" : "step",
                    ticked.steps == 1 ? "" : "s", next)));
}

/// Of a counter that was ticked. `error` is null or what roles that may tick it may know;
/// `owners_error` is what this caller may know instead.
void finish(Round& round, Oid counter, ErrorData* error, ErrorData* owners_error,
            const Ticked& ticked) {
    if (error != nullptr && error->sqlerrcode == ERRCODE_OPERATOR_INTERVENTION)
        ThrowErrorData(error); // a wait for standbys that was canceled
    const bool is_there = may_tick(counter) && !find_ended(counter).value_or(true);
    if (!is_there && !(round.call.is_alone && error != nullptr))
        return; // dropped, ended or no longer the caller's
    ++round.ticked;
    if (error == nullptr) {
        if (ticked.steps > 0) // the client's encoding may lack a letter of the name
            (void)attempt([&] { tell(counter, ticked); });
        return;
    }
    // What keeps it from being stored, such as a full disk, has no say here.
    if (is_there)
        (void)attempt([&] { note_failure(counter, round.call, error->sqlerrcode); });
    ErrorContextCallback* inner = error_context_stack;
    error_context_stack = round.outer;
    (void)attempt([&] {
        round.failed(counter, owners_error == nullptr ? error : owners_error, round.context);
    });
    error_context_stack = inner;
}

/// Error context: which of several counters a cancel has met.
void name_counter(void* round) {
    const char* name = static_cast<const Round*>(round)->name;
    if (name[0] != '\0')
        errcontext("tick of counter \"%s\"", name);
}

void begin_turn(Round& round, Oid counter) {
    const bool is_named = !round.call.is_alone && may_tick(counter);
    strlcpy(round.name, is_named ? shown_name(counter) : "", sizeof round.name);
}

void tick_here(Round& round, Oid counter) {
    Ticked ticked{};
    begin_turn(round, counter);
    ErrorData* error = attempt([&] { ticked = tick_counter(counter, round.call); });
    finish(round, counter, error, nullptr, ticked);
}

/// The counters over one owner's sources that are not ticked yet.
struct Batch {
    Round* round;
    TickRequest* request;
};

void finish_first(Batch& batch, ErrorData* error, ErrorData* owners_error, const Ticked& ticked) {
    TickRequest& request = *batch.request;
    finish(*batch.round, request.counters[0], error, owners_error, ticked);
    --request.count;
    std::memmove(request.counters, request.counters + 1, sizeof(Oid) * request.count);
    if (request.count > 0)
        begin_turn(*batch.round, request.counters[0]);
}

/// In a worker. Where it dies, that is a failure of the counter whose turn it was; another worker
/// goes on with the next one.
void tick_in_worker(Round& round, Oid owner, TickRequest* request) {
    Batch batch{&round, request};
    begin_turn(round, request->counters[0]);
    while (request->count > 0) {
        const WorkerCall call{kTickWorker, round.procedure, owner, request,
                              size_of_request(request->count)};
        ErrorData* died = call_worker(
            call,
            [](const Answer& answer, void* context) {
                Ticked ticked{};
                if (answer.error == nullptr)
                    std::memcpy(&ticked, answer.bytes, sizeof ticked);
                finish_first(*static_cast<Batch*>(context), answer.error, answer.owners_error,
                             ticked);
            },
            &batch);
        if (died != nullptr && request->count > 0)
            finish_first(batch, died, nullptr, {});
    }
}

/// The owner of the counter's source; invalid for an event counter, and where the source is gone:
/// then nothing is evaluated.
Oid owner_of_source_of(Oid counter) {
    const Oid source = source_of(counter);
    return OidIsValid(source) ? owner_of(source) : InvalidOid;
}

} // namespace

bool may_tick(Oid counter) {
    return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(counter)) &&
           pg_class_aclcheck(counter, GetUserId(), kMayTick) == ACLCHECK_OK;
}

int tick_counters(Oid procedure, const List* counters, const TickCall& call,
                  void (*failed)(Oid counter, ErrorData* error, void* context), void* context) {
    Round round{procedure, call, failed, context, 0, {}, error_context_stack};
    ErrorContextCallback naming{error_context_stack, name_counter, &round};
    error_context_stack = &naming;
    List* all_owners = NIL; // of each counter's source
    ListCell* cell = nullptr;
    PushActiveSnapshot(GetTransactionSnapshot());
    foreach (cell, counters)
        all_owners = lappend_oid(all_owners, owner_of_source_of(lfirst_oid(cell)));
    PopActiveSnapshot();
    ListCell* its_owner = nullptr;
    forboth(cell, counters, its_owner, all_owners) {
        CHECK_FOR_INTERRUPTS();
        if (!OidIsValid(lfirst_oid(its_owner)))
            tick_here(round, lfirst_oid(cell));
    }
    auto* request = static_cast<TickRequest*>(palloc(size_of_request(list_length(counters))));
    List* owners = NIL;
    foreach (cell, all_owners)
        owners = list_append_unique_oid(owners, lfirst_oid(cell));
    ListCell* owner = nullptr;
    foreach (owner, owners) {
        if (!OidIsValid(lfirst_oid(owner)))
            continue;
        request->call = call;
        request->count = 0;
        forboth(cell, counters, its_owner, all_owners) {
            if (lfirst_oid(its_owner) == lfirst_oid(owner))
                request->counters[request->count++] = lfirst_oid(cell);
        }
        tick_in_worker(round, lfirst_oid(owner), request);
    }
    error_context_stack = naming.previous;
    return round.ticked;
}

} // namespace dp_counter::pg
