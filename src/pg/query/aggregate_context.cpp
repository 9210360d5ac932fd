#include "pg/query/aggregate_context.hpp"

#include "pg/query/volatility.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

[[noreturn]] void refuse(const char* what, const char* hint) {
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s", what), errhint("%s", hint)));
}

[[noreturn]] void refuse_filter() {
    refuse("FILTER is not supported for a private count",
           "A filtered row would not be a step. Add the condition to the bit instead: bit AND "
           "condition.");
}

void check_group(FunctionCallInfo fcinfo) {
    const Aggref* call = AggGetAggref(fcinfo);
    check_volatile(call->aggfnoid);
    if (call->aggfilter != nullptr)
        refuse_filter();
    if (call->aggdistinct != NIL)
        refuse("DISTINCT is not supported for a private count",
               "Every row is a separate step. Remove DISTINCT.");
    const auto* state = reinterpret_cast<const AggState*>(fcinfo->context);
    const auto* plan = reinterpret_cast<const Agg*>(state->ss.ps.plan);
    if (plan->chain != NIL || list_length(plan->groupingSets) > 1)
        refuse("GROUPING SETS, ROLLUP and CUBE are not supported for a private count",
               "Each row would be in several releases. Write one query for each grouping, each "
               "with its own epsilon.");
}

/// Whether the aggregate `aggregate` has this transition or final function.
bool is_made_of(Oid aggregate, Oid function) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto* form = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    const bool found = form->aggtransfn == function || form->aggfinalfn == function;
    ReleaseSysCache(tuple);
    return found;
}

void check_window(FunctionCallInfo fcinfo, FrameRule rule) {
    const auto* state = reinterpret_cast<const WindowAggState*>(fcinfo->context);
    const int frame = state->frameOptions;
    check_frame_grows(frame);
    if (rule == FrameRule::whole) {
        const auto* plan = reinterpret_cast<const WindowAgg*>(state->ss.ps.plan);
        const bool peers_are_all = (frame & FRAMEOPTION_ROWS) == 0 && plan->ordNumCols == 0 &&
                                   (frame & FRAMEOPTION_END_CURRENT_ROW) != 0;
        if ((frame & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) == 0 && !peers_are_all)
            refuse("dp_count over a growing frame would reveal every bit",
                   "Use dp_running_count for a running count, or a frame that covers the whole "
                   "partition.");
    } else if ((frame & FRAMEOPTION_ROWS) != 0 &&
               (frame & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) == 0) {
        refuse("a frame of ROWS is not supported for a private count",
               "The order of tied rows may reveal their bits. Use RANGE, where tied rows share a "
               "release, or the window function with two to five arguments, which refuses ties.");
    }
    // PostgreSQL does not show which call of the query this is, so check all calls of the
    // aggregate.
    const ListCell* cell = nullptr;
    foreach (cell, state->funcs) {
        const WindowFunc* call = static_cast<const WindowFuncExprState*>(lfirst(cell))->wfunc;
        if (!is_made_of(call->winfnoid, fcinfo->flinfo->fn_oid))
            continue;
        check_volatile(call->winfnoid);
        if (call->aggfilter != nullptr)
            refuse_filter();
    }
}

} // namespace

void check_frame_grows(int frame) {
    if ((frame & FRAMEOPTION_EXCLUSION) != 0)
        refuse("EXCLUDE is not supported for a private count",
               "Each row would be counted again, with fresh noise. Remove EXCLUDE.");
    if ((frame & FRAMEOPTION_START_UNBOUNDED_PRECEDING) == 0)
        refuse("a frame that moves is not supported for a private count",
               "Each row would be counted again, with fresh noise. Start the frame at UNBOUNDED "
               "PRECEDING; the count of a moving frame is the difference of two releases.");
}

AggregateUse check_aggregate_context(FunctionCallInfo fcinfo, FrameRule rule) {
    switch (AggCheckCallContext(fcinfo, nullptr)) {
    case AGG_CONTEXT_AGGREGATE:
        check_group(fcinfo);
        return AggregateUse::group;
    case AGG_CONTEXT_WINDOW:
        check_window(fcinfo, rule);
        return AggregateUse::window;
    default:
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("this function is part of an aggregate and cannot be called alone"),
                        errhint("Call dp_running_count or dp_count.")));
    }
}

MemoryContext state_memory(FunctionCallInfo fcinfo) {
    MemoryContext memory = nullptr;
    (void)AggCheckCallContext(fcinfo, &memory);
    return memory;
}

void check_first_state(FunctionCallInfo fcinfo) {
    const auto* state = reinterpret_cast<const WindowAggState*>(fcinfo->context);
    if (state->aggregatedupto != 0)
        refuse("a private count cannot restart inside a partition",
               "Start the frame at UNBOUNDED PRECEDING, without EXCLUDE.");
}

} // namespace dp_counter::pg
