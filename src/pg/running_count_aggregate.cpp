// dp_running_count as an aggregate: the streaming form.
#include <cstdint>

#include "pg/aggregate_context.hpp"
#include "pg/arguments.hpp"
#include "pg/postgres_api.hpp"
#include "pg/secret_memory.hpp"
#include "pg/streams.hpp"

extern "C" {
#include "nodes/primnodes.h"
}

namespace dp_counter::pg {
namespace {

enum ArgumentIndex { kState, kBit, kEpsilon, kK, kHorizon, kArguments };

/// The transition state, in secret memory.
///
/// Under OVER every row's release is wanted: `stream` runs along, and `release` is that of the last
/// row. In GROUP BY only the last release is: the rows are counted, and the final function draws
/// the noise of the last step's nodes, once; PostgreSQL may run it again on the same state.
struct State {
    Progress progress;          ///< used in GROUP BY
    std::int64_t counted_until; ///< the step up to which rows are counted and nothing else
    Stream stream;              ///< stream.count is null in GROUP BY
    std::int64_t released_at;   ///< the step of GROUP BY whose release is drawn; 0 if none is
    std::int64_t release;
    Parameters parameters;
    bool may_vary;                  ///< a row may come with other parameters
    Argument arguments[kArguments]; ///< of the first row: the parameters as they came
};

void read_parameters(FunctionCallInfo fcinfo, Parameters& parameters) {
    parameters.epsilon = read_epsilon(fcinfo->args[kEpsilon]);
    read_k(parameters, fcinfo->args[kK]);
    read_horizon(parameters, fcinfo->args[kHorizon]);
    read_mechanism(parameters, {0, true}); // naming one is for the window function
}

/// Whether some parameter is neither a constant nor a query parameter. Under OVER there is no
/// knowing: PostgreSQL does not say which call of the query this is.
bool may_vary(FunctionCallInfo fcinfo) {
    const Aggref* call = AggGetAggref(fcinfo);
    if (call == nullptr)
        return true;
    for (int i = kEpsilon; i < kArguments; ++i) {
        const Expr* argument =
            static_cast<const TargetEntry*>(list_nth(call->args, i - kBit))->expr;
        const bool is_query_parameter =
            IsA(argument, Param) &&
            reinterpret_cast<const Param*>(argument)->paramkind == PARAM_EXTERN;
        if (!IsA(argument, Const) && !is_query_parameter)
            return true;
    }
    return false;
}

/// Of a group.
std::int64_t last_step(const Parameters& parameters) {
    return parameters.horizon == kUnbounded ? kMaxHorizon : parameters.horizon;
}

// Not inlined: what happens once must not burden the frame of what happens at every row.
pg_noinline State* open_state(FunctionCallInfo fcinfo) {
    Parameters parameters;
    read_parameters(fcinfo, parameters);
    MemoryContext memory = nullptr;
    const AggregateUse use = check_aggregate_context(fcinfo, FrameRule::growing, &memory);
    auto* state = static_cast<State*>(allocate_secret(memory, sizeof(State)));
    state->parameters = parameters;
    state->may_vary = may_vary(fcinfo);
    for (int i = kEpsilon; i < kArguments; ++i)
        state->arguments[i] = fcinfo->args[i];
    if (use == AggregateUse::window) {
        check_first_state(fcinfo);
        state->stream = open_stream(memory, parameters, parameters.horizon);
    } else {
        check_parameters(parameters, parameters.horizon);
        state->counted_until = state->may_vary ? 0 : last_step(parameters);
    }
    return state;
}

/// Whether this row's parameters are those of the first. NULL has the value 0; where it has not, the
/// values are read.
bool are_arguments_same(FunctionCallInfo fcinfo, const State* state) {
    Datum difference = 0;
    for (int i = kEpsilon; i < kArguments; ++i) {
        const Argument& first = state->arguments[i];
        const Argument& now = fcinfo->args[i];
        difference |= (first.value ^ now.value) | static_cast<Datum>(first.isnull != now.isnull);
    }
    return difference == 0;
}

pg_noinline void check_same_parameters(FunctionCallInfo fcinfo, const State* state) {
    Parameters parameters;
    read_parameters(fcinfo, parameters);
    if (!(parameters == state->parameters))
        raise_not_constant();
}

pg_noinline State* take_in(FunctionCallInfo fcinfo, State* state, bool bit) {
    if (state == nullptr)
        state = open_state(fcinfo);
    else if (state->may_vary && !are_arguments_same(fcinfo, state))
        check_same_parameters(fcinfo, state);
    if (state->stream.count != nullptr) {
        state->release = advance(state->stream, state->parameters, bit);
        return state;
    }
    const std::int64_t last = last_step(state->parameters);
    if (state->progress.step >= last)
        raise_beyond(last);
    state->progress.record(bit);
    return state;
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_running_count_transition) {
    using namespace dp_counter::pg;
    const bool bit = bit_from_boolean(fcinfo->args[kBit]);
    State* const state =
        PG_ARGISNULL(kState) ? nullptr : reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
    if (state == nullptr || state->progress.step >= state->counted_until)
        PG_RETURN_POINTER(take_in(fcinfo, state, bit));
    state->progress.record(bit);
    PG_RETURN_POINTER(state);
}

DP_FUNCTION(dp_running_count_final) {
    using namespace dp_counter::pg;
    if (PG_ARGISNULL(kState)) { // no row, no step: nothing to hide
        MemoryContext memory = nullptr;
        (void)check_aggregate_context(fcinfo, FrameRule::growing, &memory);
        PG_RETURN_INT64(0);
    }
    auto* state = reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
    if (state->stream.count == nullptr && state->released_at != state->progress.step) {
        state->release =
            release_once(state->parameters, state->parameters.horizon, state->progress);
        state->released_at = state->progress.step;
    }
    PG_RETURN_INT64(state->release);
}
