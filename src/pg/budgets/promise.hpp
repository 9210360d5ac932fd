// What a budget promises, in words that its COMMENT and dp_promise share.
#pragma once

#include "pg/budgets/budget_rows.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The guarantee of all charges together, in sentences: for whom, and by which factor, rounded up,
/// any outcome may become more likely.
[[nodiscard]] char* promise_of(const BudgetRow& budget);

} // namespace dp_counter::pg
