// The table of budgets, and the lock of one.
#pragma once

#include <cstdint>

#include "pg/budgets/sweep.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A row of dp_counter_private.budgets. The unit (per_days and the types) is in the row of the
/// root: of the budget that is within no other.
struct BudgetRow {
    Oid budget;
    std::int32_t number; ///< greater than that of the budget it is within
    Numeric epsilon;
    std::int32_t per_days; ///< 0: a person's life
    Oid person_type;       ///< that all its sources have; invalid before the first one
    Oid time_type;         ///< the same
    std::int32_t within;   ///< number of the budget it is within; 0: none
    std::int32_t root;     ///< number of the outermost one, of a root its own
    EntryRange range;      ///< of all its charges
    Numeric least_epsilon;
    std::int64_t most_cells;
};

/// Reads the row into CurrentMemoryContext; false if there is none.
[[nodiscard]] bool read_budget(Oid budget, BudgetRow& row);
[[nodiscard]] bool read_budget_numbered(std::int32_t number, BudgetRow& row);

/// The row of an existing budget, and of its root.
[[nodiscard]] BudgetRow require_budget(Oid budget);
[[nodiscard]] BudgetRow root_of(const BudgetRow& row);

/// The last made of the budgets directly within this one; invalid if there is none.
[[nodiscard]] Oid any_budget_within(std::int32_t number);

void insert_budget_row(const BudgetRow& row);
void update_budget_types(const BudgetRow& row);
void delete_budget_row(Oid budget);

/// Holds the lock to the end of the transaction. Reads after it see the last committed entries. Who
/// locks two locks the lesser number first.
void lock_budget(std::int32_t number);

} // namespace dp_counter::pg
