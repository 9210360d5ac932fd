#include <cstring>

#include "pg/worker/executor_hooks.hpp"

#include "pg/server/postgres_api.hpp"
#include "pg/server/tree_walker.hpp"

extern "C" {
#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
}

namespace dp_counter::pg {

namespace {

ExecutorStart_hook_type next_start = nullptr;
ExecutorRun_hook_type next_run = nullptr;
ExecutorFinish_hook_type next_finish = nullptr;
ExecutorEnd_hook_type next_end = nullptr;

bool forget_counts(PlanState* state, void* context) {
    if (state->instrument != nullptr)
        std::memset(static_cast<void*>(state->instrument), 0, sizeof(*state->instrument));
    state->worker_instrument = nullptr;
    return planstate_tree_walker(state, tree_walker(forget_counts), context);
}

/// Pages and WAL, which modules compare between the start and the end.
void forget_usage() {
    pgBufferUsage = {};
    pgWalUsage = {};
}

bool is_of_citus(PlanState* state, void* context) {
    if (IsA(state, CustomScanState)) {
        const auto* scan = reinterpret_cast<const CustomScanState*>(state);
        if (std::strncmp(scan->methods->CustomName, "Citus", 5) == 0)
            return true;
    }
    return planstate_tree_walker(state, tree_walker(is_of_citus), context);
}

extern "C" {
static void start(QueryDesc* query, int flags) {
    query->plannedstmt->parallelModeNeeded = false;
    forget_usage();
    const bool is_told = next_start != nullptr && (flags & kQueryOfView) != 0;
    (is_told ? next_start : standard_ExecutorStart)(query, flags);
}

static void finish(QueryDesc* query) {
    const bool is_citus = next_finish != nullptr && is_of_citus(query->planstate, nullptr);
    (is_citus ? next_finish : standard_ExecutorFinish)(query);
}

static void end(QueryDesc* query) {
    (void)forget_counts(query->planstate, nullptr);
    query->estate->es_processed = 0;
#if PG_VERSION_NUM >= 160000
    query->estate->es_total_processed = 0;
#endif
#if PG_VERSION_NUM >= 190000
    Instrumentation* totals = query->query_instr;
#else
    Instrumentation* totals = query->totaltime;
#endif
    if (totals != nullptr)
        std::memset(static_cast<void*>(totals), 0, sizeof(*totals));
    forget_usage();
    const bool is_told = next_end != nullptr && (query->estate->es_top_eflags & kQueryOfView) != 0;
    (is_told ? next_end : standard_ExecutorEnd)(query);
}
}

} // namespace

void quiet_executor_hooks() {
    next_start = ExecutorStart_hook;
    next_run = ExecutorRun_hook;
    next_finish = ExecutorFinish_hook;
    next_end = ExecutorEnd_hook;
    ExecutorStart_hook = start;
    ExecutorRun_hook = [](QueryDesc* query, auto... rest) { // of which majors have more
        const bool is_citus = next_run != nullptr && is_of_citus(query->planstate, nullptr);
        (is_citus ? next_run : standard_ExecutorRun)(query, rest...);
    };
    ExecutorFinish_hook = finish;
    ExecutorEnd_hook = end;
    *find_rendezvous_variable("PLpgSQL_plugin") = nullptr;
}

} // namespace dp_counter::pg
