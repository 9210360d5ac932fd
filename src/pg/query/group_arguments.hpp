// The parameters of an aggregate in GROUP BY: of the query, not of its rows.
#pragma once

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Evaluates the first `count` arguments after the bit of an aggregate that is called in GROUP BY.
/// They are constants: immutable expressions over constants and query parameters; for anything else
/// it raises invalid_parameter_value. So they are known for a group without rows, and no row can
/// change them. By value, or in memory of the query.
///
/// Call it once a query. It initializes no expression under the plan's node, which outlives the
/// memory of this call, and compiles none.
void evaluate_group_arguments(FunctionCallInfo fcinfo, Argument* arguments, int count);

} // namespace dp_counter::pg
