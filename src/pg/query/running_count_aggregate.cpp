// dp_running_count as an aggregate: the streaming form.
#include <cstdint>
#include <optional>

#include "pg/query/aggregate_context.hpp"
#include "pg/query/group_arguments.hpp"
#include "pg/query/streams.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/secret_memory.hpp"

namespace dp_counter::pg {
namespace {

enum ArgumentIndex { kState, kBit, kEpsilon, kK, kHorizon, kArguments };

/// What is known about the call, looked up once per query.
struct Call {
    std::optional<Request> request; ///< of GROUP BY; nothing for a window
};

/// The transition state, in secret memory.
///
/// Under OVER every row has a release: `stream` advances with the rows, and `release` is that of
/// the last row. GROUP BY needs only the last release: the rows are counted, and the final function
/// draws the noise of the last step's nodes, once, since PostgreSQL may call it again on the same
/// state.
struct State {
    Progress progress;          ///< used in GROUP BY
    std::int64_t counted_until; ///< up to this step, rows are only counted
    Stream stream;              ///< stream.noise is null in GROUP BY
    std::int64_t released_at;   ///< the step of GROUP BY whose release is drawn; 0 if none is
    std::int64_t release;
    Request request;
    Argument arguments[kArguments]; ///< of the window's first row: the parameters as they came
};

/// Only the window function can name a mechanism.
Request read_request_of(const Argument* arguments) {
    return read_request(
        {.epsilon = arguments[kEpsilon], .horizon = arguments[kHorizon], .k = arguments[kK]});
}

// Not inlined: keeps the stack frame of the code that runs at every row small.
pg_noinline Call open_call(FunctionCallInfo fcinfo) {
    if (check_aggregate_context(fcinfo, FrameRule::growing) == AggregateUse::window)
        return {};
    Argument arguments[kArguments];
    evaluate_group_arguments(fcinfo, arguments + kEpsilon, kArguments - kEpsilon);
    const Request request = read_request_of(arguments);
    check_request(request);
    return {request};
}

/// The last step of a group.
std::int64_t last_step(const Request& request) {
    return request.horizon == kUnbounded ? kMaxHorizon : request.horizon;
}

pg_noinline State* open_state(FunctionCallInfo fcinfo) {
    const Call* call = once<Call, open_call>(fcinfo);
    MemoryContext memory = state_memory(fcinfo);
    if (!call->request)
        check_first_state(fcinfo);
    const Request request = call->request ? *call->request : read_request_of(fcinfo->args);
    auto* state = static_cast<State*>(allocate_secret(memory, sizeof(State)));
    state->request = request;
    if (!call->request) {
        for (int i = kEpsilon; i < kArguments; ++i)
            state->arguments[i] = fcinfo->args[i];
        state->stream = open_stream(memory, request);
    } else {
        state->counted_until = last_step(request);
    }
    return state;
}

/// Whether this row's parameters are those of the first. A NULL mostly has the value 0; if it has
/// another one, check_same_request decides.
bool are_arguments_same(FunctionCallInfo fcinfo, const State* state) {
    Datum difference = 0;
    for (int i = kEpsilon; i < kArguments; ++i) {
        const Argument& first = state->arguments[i];
        const Argument& now = fcinfo->args[i];
        difference |= (first.value ^ now.value) | static_cast<Datum>(first.isnull != now.isnull);
    }
    return difference == 0;
}

pg_noinline void check_same_request(FunctionCallInfo fcinfo, const State* state) {
    if (!(read_request_of(fcinfo->args) == state->request))
        raise_not_constant();
}

/// Handles a row that is not only counted: of a window, the first of a group, or beyond its
/// horizon.
pg_noinline State* take_in(FunctionCallInfo fcinfo, State* state, bool bit) {
    if (state == nullptr)
        state = open_state(fcinfo);
    else if (state->stream.noise == nullptr)
        raise_beyond(state->counted_until);
    else if (!are_arguments_same(fcinfo, state))
        check_same_request(fcinfo, state);
    if (state->stream.noise != nullptr)
        state->release = advance(state->stream, state->request, bit ? 1 : 0);
    else
        state->progress.record(bit ? 1 : 0);
    return state;
}

} // namespace

DP_FUNCTION(dp_running_count_transition) {
    const bool bit = is_true(fcinfo->args[kBit]);
    State* const state =
        PG_ARGISNULL(kState) ? nullptr : reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
    if (state == nullptr || state->progress.step >= state->counted_until)
        PG_RETURN_POINTER(take_in(fcinfo, state, bit));
    state->progress.record(bit ? 1 : 0);
    PG_RETURN_POINTER(state);
}

DP_FUNCTION(dp_running_count_final) {
    if (PG_ARGISNULL(kState)) { // no row, no step: nothing to hide
        (void)once<Call, open_call>(fcinfo);
        PG_RETURN_INT64(0);
    }
    auto* state = reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
    if (state->stream.noise == nullptr && state->released_at != state->progress.step) {
        state->release = release_once(state->request, state->progress);
        state->released_at = state->progress.step;
    }
    PG_RETURN_INT64(state->release);
}

} // namespace dp_counter::pg
