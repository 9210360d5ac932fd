// dp_count: one private count.
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

enum ArgumentIndex { kState, kBit, kEpsilon };

/// What is known about the call, looked up once per query.
struct Call {
    std::optional<PrivacyUnit> unit; ///< of GROUP BY; nothing for a window
};

/// The transition state, in secret memory. The noise is drawn once, by the first final function,
/// and kept: PostgreSQL may run it again on the same state.
struct State {
    PrivacyUnit unit;
    bool may_vary; ///< a row may come with another epsilon
    bool released;
    std::int64_t count;
    std::int64_t release;
};

// Not inlined: keeps the stack frame of the code that runs at every row small.
pg_noinline Call open_call(FunctionCallInfo fcinfo) {
    if (check_aggregate_context(fcinfo, FrameRule::whole) == AggregateUse::window)
        return {};
    Argument epsilon;
    evaluate_group_arguments(fcinfo, &epsilon, 1);
    return {read_unit(epsilon)};
}

pg_noinline State* open_state(FunctionCallInfo fcinfo) {
    const Call* call = once<Call, open_call>(fcinfo);
    const PrivacyUnit unit = call->unit ? *call->unit : read_unit(fcinfo->args[kEpsilon]);
    auto* state = static_cast<State*>(allocate_secret(state_memory(fcinfo), sizeof(State)));
    state->unit = unit;
    state->may_vary = !call->unit;
    return state;
}

pg_noinline void check_same_unit(const Argument& epsilon, const State* state) {
    if (!(read_unit(epsilon) == state->unit))
        raise_not_constant();
}

} // namespace

DP_FUNCTION(dp_count_transition) {
    const Argument& epsilon = fcinfo->args[kEpsilon];
    State* state = nullptr;
    if (PG_ARGISNULL(kState)) {
        state = open_state(fcinfo);
    } else {
        state = reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
        if (state->may_vary &&
            (epsilon.isnull || DatumGetFloat8(epsilon.value) != state->unit.epsilon.value()))
            check_same_unit(epsilon, state);
    }
    state->count += is_true(fcinfo->args[kBit]) ? 1 : 0;
    PG_RETURN_POINTER(state);
}

DP_FUNCTION(dp_count_final) {
    if (PG_ARGISNULL(kState)) // a group without rows; a window has rows
        PG_RETURN_INT64(release_value(*once<Call, open_call>(fcinfo)->unit, 0));
    auto* state = reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
    if (!state->released) {
        state->release = release_value(state->unit, state->count);
        state->released = true;
    }
    PG_RETURN_INT64(state->release);
}

} // namespace dp_counter::pg
