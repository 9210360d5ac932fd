// dp_tick: ticks one counter, those of a source, or all, and goes on past those that fail.
//
// Of many, each failure is a WARNING; the error at the end names the counters. A cancel, a timeout
// or a shutdown ends the procedure at once: what was released until then stays released.
#include "pg/counters/tick_counters.hpp"

#include "pg/server/commits.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/hidden_number.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {
namespace {

/// The call of a tick, and the procedure that was called. Trivial.
struct Call {
    Oid procedure;
    TimestampTz at;
};

/// What became of the counters that the caller may tick.
struct Outcome {
    int ticked; ///< some of which have failed
    int failed;
    StringInfoData names; ///< of those that have failed
};

/// A WARNING with the message that a tick of this counter alone would raise.
void warn(Oid counter, ErrorData* error, void* context) {
    auto& outcome = *static_cast<Outcome*>(context);
    const char* name = shown_name(counter);
    appendStringInfo(&outcome.names, "%s%s", outcome.failed == 0 ? "" : ", ", name);
    ++outcome.failed;
    error->elevel = WARNING;
    error->message = psprintf("%s: %s", name, error->message);
    ThrowErrorData(error);
}

Outcome tick_each(const Call& call, const List* counters) {
    Outcome outcome{};
    initStringInfo(&outcome.names);
    outcome.ticked = tick_counters(call.procedure, counters, {call.at, false}, warn, &outcome);
    return outcome;
}

void raise_failures(const Outcome& outcome) {
    if (outcome.failed > 0)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg_plural("%d of %d counter failed: %s", "%d of %d counters failed: %s",
                               static_cast<unsigned long>(outcome.ticked), outcome.failed,
                               outcome.ticked, outcome.names.data),
                 outcome.failed < outcome.ticked
                     ? errhint("The warnings say why each failed. The others are up to date.")
                     : errhint("The warnings say why each failed.")));
}

/// Those of a call for all. Event counters come first: how long reading the sources takes does not
/// put off the end of their steps.
List* counters_to_tick() {
    List* of_events = NIL;
    List* of_sources = NIL;
    PushActiveSnapshot(GetTransactionSnapshot());
    forget_lost_sources();
    ListCell* cell = nullptr;
    foreach (cell, all_counters()) {
        const Oid view = lfirst_oid(cell);
        const auto counter = may_tick(view) ? find_counter(view) : std::nullopt;
        if (!counter || counter->row.has_ended)
            continue;
        if (counter->declared)
            of_sources = lappend_oid(of_sources, view);
        else if (counter->row.has_every)
            of_events = lappend_oid(of_events, view);
    }
    PopActiveSnapshot();
    return list_concat(of_events, of_sources);
}

void tick_all(const Call& call) {
    const Outcome outcome = tick_each(call, counters_to_tick());
    if (outcome.ticked == 0)
        ereport(WARNING,
                (errmsg("no counter was ticked"),
                 errdetail("There is none with a source or an every that this role may tick."),
                 errhint("Ticking a counter requires the UPDATE privilege on it.")));
    raise_failures(outcome);
}

void tick_one(const Call& call, Oid counter) {
    check_privilege(counter, kMayTick);
    if (!find_ended(counter))
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("\"%s\" is neither a counter nor a source", name_of_relation(counter)),
                 errhint("The views dp_counters and dp_sources list them.")));
    ErrorData* error = nullptr;
    (void)tick_counters(
        call.procedure, list_make1_oid(counter), {call.at, true},
        [](Oid /*counter*/, ErrorData* failure, void* first) {
            *static_cast<ErrorData**>(first) = failure;
        },
        &error);
    if (error != nullptr)
        ThrowErrorData(error);
}

/// False where the caller may tick none of its counters, unless it is the caller's own source: a
/// role that may tick none does not learn what is a source.
bool tick_source(const Call& call, Oid source) {
    if (!OidIsValid(source)) // as that of counters whose source was dropped
        return false;
    List* counters = NIL;
    ListCell* cell = nullptr;
    foreach (cell, counters_of_source(source))
        if (may_tick(lfirst_oid(cell)))
            counters = lappend_oid(counters, lfirst_oid(cell));
    SourceRow row;
    const bool is_own = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)) &&
                        is_owner(source) && read_source(source, row);
    if (counters == NIL && !is_own)
        return false;
    const Outcome outcome = tick_each(call, counters);
    if (outcome.ticked == 0 && counters != NIL) // it has lost them while it waited
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for all counters of the source"),
                        errhint("Ticking a counter requires the UPDATE privilege on it.")));
    raise_failures(outcome);
    return true;
}

} // namespace

DP_FUNCTION(dp_tick) {
    check_can_commit(fcinfo, "dp_tick", kWhyTicksCommit);
    PreventCommandIfReadOnly("dp_tick()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    const Call call{fcinfo->flinfo->fn_oid, GetCurrentTimestamp()};
    PushActiveSnapshot(GetTransactionSnapshot());
    hide_number_of_tallies();
    PopActiveSnapshot();
    if (PG_ARGISNULL(0))
        tick_all(call);
    else if (!tick_source(call, PG_GETARG_OID(0)))
        tick_one(call, PG_GETARG_OID(0));
    SPI_finish();
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
