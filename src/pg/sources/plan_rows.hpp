// The rows of dp_counter_plan, of a counter that is there and of one that is declared only.
#pragma once

#include "core/noise/privacy_unit.hpp"

#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

struct Planned {
    /// A subquery with one row: horizon, epsilon, k, mechanism, sensitivity, measure, groups
    /// (how many) and per, of the types that dp_counters has; a NULL mechanism is the best one.
    const char* counter;
    bool cumulative;
    bool is_active;        ///< stocks of active persons
    Numeric remaining;     ///< null for who may not read the budget
    const char* kept;      ///< null where there is no bound, or its source was dropped
    const char* guarantee; ///< null where its source was dropped
    PrivacyUnit unit;
    std::int32_t bins; ///< of a histogram; else 0
    bool is_in_totals; ///< the same
};

/// Fills the result of the calling function, which sets the search path to pg_catalog.
void put_plan(FunctionCallInfo fcinfo, const Planned& planned);

/// The same for a counter that is declared, of checked arguments, and not made or charged. It tells
/// what would remain of the budget, also below 0, but of one that continues another counter.
void put_plan_of_declaration(FunctionCallInfo fcinfo, const SourceDeclaration& declaration,
                             Numeric epsilon, const Argument& horizon, const Argument& k,
                             const Argument& mechanism);

} // namespace dp_counter::pg
