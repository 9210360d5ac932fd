// dp_counter_tick, dp_source_tick and dp_tick: tick one counter, or many, and go on past those that
// fail.
//
// Of many, each failure is a WARNING; the error at the end names the counters. A cancel, a timeout
// or a shutdown ends the procedure at once: what was released until then stays released.
#include "pg/counters/tick_counters.hpp"

#include "pg/server/arguments.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

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

Outcome tick_each(Oid procedure, const List* counters, TimestampTz called) {
    Outcome outcome{};
    initStringInfo(&outcome.names);
    outcome.ticked = tick_counters(procedure, counters, {called, false}, warn, &outcome);
    return outcome;
}

void raise_failures(const Outcome& outcome) {
    if (outcome.failed > 0)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg_plural("%d of %d counter failed: %s", "%d of %d counters failed: %s",
                                      static_cast<unsigned long>(outcome.ticked), outcome.failed,
                                      outcome.ticked, outcome.names.data),
                        errhint("The warnings say why each failed. The others are up to date.")));
}

bool has_every(Oid counter) {
    CounterRow row;
    return read_counter(counter, row) && row.has_every;
}

/// Those that dp_tick ticks. Event counters come first: how long reading the sources takes does not
/// put off the end of their steps.
List* counters_to_tick() {
    List* of_events = NIL;
    List* of_sources = NIL;
    PushActiveSnapshot(GetTransactionSnapshot());
    forget_lost_sources();
    ListCell* cell = nullptr;
    foreach (cell, all_counters()) {
        const Oid counter = lfirst_oid(cell);
        if (!may_tick(counter) || has_ended(counter))
            continue;
        if (has_source(counter))
            of_sources = lappend_oid(of_sources, counter);
        else if (has_every(counter))
            of_events = lappend_oid(of_events, counter);
    }
    PopActiveSnapshot();
    return list_concat(of_events, of_sources);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_tick) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo, "dp_counter_tick", kWhyTicksCommit);
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    PreventCommandIfReadOnly("dp_counter_tick()");
    check_counter_privilege(counter, kMayTick);
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    ErrorData* error = nullptr;
    (void)tick_counters(
        fcinfo->flinfo->fn_oid, list_make1_oid(counter), {GetCurrentTimestamp(), true},
        [](Oid /*counter*/, ErrorData* failure, void* first) {
            *static_cast<ErrorData**>(first) = failure;
        },
        &error);
    if (error != nullptr)
        ThrowErrorData(error);
    SPI_finish();
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_source_tick) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo, "dp_source_tick", kWhyTicksCommit);
    const Oid source = read_relation(fcinfo->args[0], "source");
    PreventCommandIfReadOnly("dp_source_tick()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    List* all = counters_of_source(source);
    List* counters = NIL;
    ListCell* cell = nullptr;
    foreach (cell, all)
        if (may_tick(lfirst_oid(cell)))
            counters = lappend_oid(counters, lfirst_oid(cell));
    const Outcome outcome = tick_each(fcinfo->flinfo->fn_oid, counters, GetCurrentTimestamp());
    // Only the owner learns whether this is a source: a role that may tick none of its counters
    // must not.
    const bool is_own = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source)) && is_owner(source);
    if (is_own)
        (void)require_source(source);
    if (outcome.ticked == 0 && !(is_own && all == NIL))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for all counters of the source"),
                        errhint("Ticking a counter requires the UPDATE privilege on it.")));
    raise_failures(outcome);
    SPI_finish();
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_tick) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo, "dp_tick", kWhyTicksCommit);
    PreventCommandIfReadOnly("dp_tick()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    const TimestampTz called = GetCurrentTimestamp();
    const Outcome outcome = tick_each(fcinfo->flinfo->fn_oid, counters_to_tick(), called);
    if (outcome.ticked == 0)
        ereport(WARNING,
                (errmsg("no counter was ticked"),
                 errdetail("There is none with a source or an every that this role may tick."),
                 errhint("Ticking a counter requires the UPDATE privilege on it.")));
    raise_failures(outcome);
    SPI_finish();
    PG_RETURN_VOID();
}
