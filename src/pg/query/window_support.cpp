// The planner's questions about the window functions.
//
// A running count counts the rows up to the current one, whatever the frame; a frame with another
// meaning is refused. The frame becomes that of row_number(), which saves PostgreSQL the search for
// the peers of every row. Other questions get no answer, in particular not whether results are
// monotone: noisy counts are not, so PostgreSQL must not stop a window at one.
#include "pg/query/aggregate_context.hpp"
#include "pg/query/drawn_once.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "catalog/pg_proc.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
}

namespace dp_counter::pg {
namespace {

constexpr int kRows = FRAMEOPTION_NONDEFAULT | FRAMEOPTION_ROWS |
                      FRAMEOPTION_START_UNBOUNDED_PRECEDING | FRAMEOPTION_END_CURRENT_ROW;

bool draws_noise(Oid function) { // and is not dp_monotone, which takes any frame
    return func_volatile(function) == PROVOLATILE_VOLATILE;
}

void check_frame(int frame) {
    check_frame_grows(frame);
    if ((frame & FRAMEOPTION_END_OFFSET) != 0)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("a frame that ends before or after the current row is not supported for a "
                        "private count"),
                 errhint("Remove the frame clause, and call lag() or lead() in an outer query.")));
}

#if PG_VERSION_NUM < 160000

/// PostgreSQL asks about frames from 16 on. Before, the frame can still be chosen when it asks what
/// a function costs, as 16 does, if all functions of the window agree.
void choose_frame(const SupportRequestCost* question, WindowClause* window, Oid support) {
    if (window->frameOptions == kRows) // chosen for another call, or by the user
        return;
    const WindowFuncLists* all =
        find_window_functions(reinterpret_cast<Node*>(question->root->processed_tlist),
                              list_length(question->root->parse->windowClause));
    bool draws = false;
    ListCell* cell = nullptr;
    foreach (cell, all->windowFuncs[window->winref]) {
        const Oid function = lfirst_node(WindowFunc, cell)->winfnoid;
        if (get_func_support(function) != support)
            return;
        draws = draws || draws_noise(function);
    }
    if (draws)
        check_frame(window->frameOptions);
    window->frameOptions = kRows;
}

#endif

/// Asked of each call, in every major, while its window is planned.
void answer_cost(const SupportRequestCost* question, Oid support) {
    CHECK_FOR_INTERRUPTS(); // the whole query is searched for each of its calls
    if (question->root == nullptr || question->node == nullptr || !IsA(question->node, WindowFunc))
        return;
    const Query* query = question->root->parse;
    const auto* call = reinterpret_cast<const WindowFunc*>(question->node);
    const bool draws = draws_noise(call->winfnoid);
    if (draws) {
        check_not_copied(query, call->winfnoid);
        check_has_no_copy(query, call);
    }
    ListCell* cell = nullptr;
    foreach (cell, query->windowClause) {
        auto* window = lfirst_node(WindowClause, cell);
        if (window->winref != call->winref)
            continue;
        if (draws)
            check_frame(window->frameOptions);
#if PG_VERSION_NUM < 160000
        choose_frame(question, window, support);
#endif
    }
    (void)support;
}

} // namespace

DP_FUNCTION(dp_running_count_support) {
    auto* question = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
#if PG_VERSION_NUM >= 160000
    if (IsA(question, SupportRequestOptimizeWindowClause)) {
        auto* request = reinterpret_cast<SupportRequestOptimizeWindowClause*>(question);
        if (draws_noise(request->window_func->winfnoid))
            check_frame(request->window_clause->frameOptions);
        request->frameOptions = kRows;
        PG_RETURN_POINTER(question);
    }
#endif
    if (IsA(question, SupportRequestCost))
        answer_cost(reinterpret_cast<SupportRequestCost*>(question), fcinfo->flinfo->fn_oid);
    PG_RETURN_DATUM(0);
}

} // namespace dp_counter::pg
