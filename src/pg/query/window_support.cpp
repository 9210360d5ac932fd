// The planner's question about the window functions: which frame do they need?
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
#include "nodes/supportnodes.h"
}

/// The frame is ignored: let it be that of row_number(), which spares PostgreSQL 16 and later the
/// comparison of every row with the next. Any other question is left without an answer, above all
/// whether results are monotone: noisy counts are not, and a window must not end at one.
DP_FUNCTION(dp_running_count_support) {
    [[maybe_unused]] auto* question = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
#if PG_VERSION_NUM >= 160000
    if (IsA(question, SupportRequestOptimizeWindowClause)) {
        reinterpret_cast<SupportRequestOptimizeWindowClause*>(question)->frameOptions =
            FRAMEOPTION_NONDEFAULT | FRAMEOPTION_ROWS | FRAMEOPTION_START_UNBOUNDED_PRECEDING |
            FRAMEOPTION_END_CURRENT_ROW;
        PG_RETURN_POINTER(question);
    }
#endif
    PG_RETURN_POINTER(nullptr);
}
