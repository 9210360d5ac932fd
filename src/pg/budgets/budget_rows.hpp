// The table of budgets, and the lock of one.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// A row of dp_counter_private.budgets.
struct BudgetRow {
    Oid budget;
    std::int32_t number;
    Numeric epsilon;
    std::int32_t per_days; ///< 0: a person's life
    Oid person_type;       ///< that all its sources have; invalid before the first one
    Oid time_type;         ///< the same
};

/// Reads the row into CurrentMemoryContext; false if there is none.
[[nodiscard]] bool read_budget(Oid budget, BudgetRow& row);
[[nodiscard]] bool read_budget_numbered(std::int32_t number, BudgetRow& row);

void insert_budget_row(const BudgetRow& row);
void update_budget_types(const BudgetRow& row);
void delete_budget_row(Oid budget);

/// Holds the lock to the end of the transaction. Reads after it see the last committed entries.
void lock_budget(std::int32_t number);

} // namespace dp_counter::pg
