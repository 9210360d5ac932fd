// The planner's question about the window functions: which frame do they need?
//
// They ignore it: let it be that of row_number(), which spares PostgreSQL the search for the peers
// of every row. Any other question is left without an answer, above all whether results are
// monotone: noisy counts are not, and a window must not end at one.
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {
namespace {

constexpr int kRows = FRAMEOPTION_NONDEFAULT | FRAMEOPTION_ROWS |
                      FRAMEOPTION_START_UNBOUNDED_PRECEDING | FRAMEOPTION_END_CURRENT_ROW;

#if PG_VERSION_NUM < 160000

/// PostgreSQL asks about frames from 16 on. Before, it asks what a function costs: while the window
/// is planned, so that its frame can still be chosen, as 16 does, if all its functions agree.
void choose_frame(const SupportRequestCost* question, Oid support) {
    if (question->root == nullptr || question->node == nullptr || !IsA(question->node, WindowFunc))
        return;
    const Query* query = question->root->parse;
    const Index window = reinterpret_cast<const WindowFunc*>(question->node)->winref;
    const WindowFuncLists* all = find_window_functions(
        reinterpret_cast<Node*>(question->root->processed_tlist), list_length(query->windowClause));
    ListCell* cell = nullptr;
    foreach (cell, all->windowFuncs[window])
        if (get_func_support(lfirst_node(WindowFunc, cell)->winfnoid) != support)
            return;
    foreach (cell, query->windowClause)
        if (lfirst_node(WindowClause, cell)->winref == window)
            lfirst_node(WindowClause, cell)->frameOptions = kRows;
}

#endif

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_running_count_support) {
    using namespace dp_counter::pg;
    auto* question = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
#if PG_VERSION_NUM >= 160000
    if (IsA(question, SupportRequestOptimizeWindowClause)) {
        reinterpret_cast<SupportRequestOptimizeWindowClause*>(question)->frameOptions = kRows;
        PG_RETURN_POINTER(question);
    }
#else
    if (IsA(question, SupportRequestCost))
        choose_frame(reinterpret_cast<SupportRequestCost*>(question), fcinfo->flinfo->fn_oid);
#endif
    PG_RETURN_POINTER(nullptr);
}
