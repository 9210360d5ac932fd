// dp_count: one private count.
#include <cstdint>

#include "pg/aggregate_context.hpp"
#include "pg/arguments.hpp"
#include "pg/postgres_api.hpp"
#include "pg/secret_memory.hpp"
#include "pg/streams.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "optimizer/optimizer.h"
}

namespace dp_counter::pg {
namespace {

enum ArgumentIndex { kState, kBit, kEpsilon };

/// The transition state, in secret memory. The noise is drawn once, by the first final function,
/// and kept: PostgreSQL may run it again on the same state.
struct State {
    double epsilon;
    std::int64_t count;
    bool released;
    std::int64_t release;
};

/// The epsilon of a call that saw no row, from the query's text: the second argument. False if it
/// is computed from the rows that are not there.
bool epsilon_of_empty_input(FunctionCallInfo fcinfo, Argument& epsilon) {
    const Aggref* call = AggGetAggref(fcinfo);
    if (call == nullptr || list_length(call->args) < 2)
        return false;
    Expr* expression = static_cast<TargetEntry*>(lsecond(call->args))->expr;
    if (contain_var_clause(reinterpret_cast<Node*>(expression)))
        return false;
    auto* parent = reinterpret_cast<PlanState*>(fcinfo->context);
    epsilon.value = ExecEvalExprSwitchContext(ExecInitExpr(expression, parent),
                                              parent->ps_ExprContext, &epsilon.isnull);
    return true;
}

// Not inlined: what happens once must not burden the frame of what happens at every row.
pg_noinline State* open_state(FunctionCallInfo fcinfo) {
    const double epsilon = read_epsilon(fcinfo->args[kEpsilon]);
    MemoryContext memory = nullptr;
    (void)check_aggregate_context(fcinfo, FrameRule::whole, &memory);
    check_epsilon(epsilon);
    auto* state = static_cast<State*>(allocate_secret(memory, sizeof(State)));
    state->epsilon = epsilon;
    return state;
}

pg_noinline void raise_other_epsilon(const Argument& argument) {
    (void)read_epsilon(argument); // raises an error of its own for NULL
    raise_not_constant();
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_count_transition) {
    using namespace dp_counter::pg;
    const Argument& epsilon = fcinfo->args[kEpsilon];
    State* state = nullptr;
    if (PG_ARGISNULL(kState)) {
        state = open_state(fcinfo);
    } else {
        state = reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
        if (epsilon.isnull || DatumGetFloat8(epsilon.value) != state->epsilon)
            raise_other_epsilon(epsilon);
    }
    state->count += bit_from_boolean(fcinfo->args[kBit]) ? 1 : 0;
    PG_RETURN_POINTER(state);
}

DP_FUNCTION(dp_count_final) {
    using namespace dp_counter::pg;
    if (PG_ARGISNULL(kState)) {
        MemoryContext memory = nullptr;
        (void)check_aggregate_context(fcinfo, FrameRule::whole, &memory);
        Argument epsilon;
        if (!epsilon_of_empty_input(fcinfo, epsilon))
            PG_RETURN_NULL();
        PG_RETURN_INT64(release_count(read_epsilon(epsilon), 0));
    }
    auto* state = reinterpret_cast<State*>(PG_GETARG_POINTER(kState));
    if (!state->released) {
        state->release = release_count(state->epsilon, state->count);
        state->released = true;
    }
    PG_RETURN_INT64(state->release);
}
