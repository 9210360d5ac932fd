// The table of budgets, and the lock of one.
#pragma once

#include <cstdint>

#include "pg/budgets/sweep.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A row of dp_counter_private.budgets, with the unit (per_days and the types) that is stored in
/// the row of the root: of the budget that is within no other.
struct BudgetRow {
    Oid budget;          ///< its view; invalid where that is lost
    std::int64_t number; ///< greater than that of the budget it is within
    Numeric epsilon;
    std::int32_t per_days; ///< 0: a person's life
    Oid person_type;       ///< that all sources of the root have; invalid before the first one
    Oid time_type;         ///< the same
    std::int64_t within;   ///< number of the budget it is within; 0: none
    std::int64_t root;     ///< number of the outermost one, of a root its own
    EntryRange range;      ///< of all its charges
    Numeric least_epsilon;
    std::int64_t most_cells;
    std::int64_t key_digest; ///< of the key of the windows that the root was made with
    std::int64_t last_entry; ///< number of its last charge; 0: there was none
};

/// Reads the row into CurrentMemoryContext; false if there is none. Raises data_corrupted if there
/// is no root. The Oid is that of its view, which this command may have dropped.
[[nodiscard]] bool read_budget(Oid budget, BudgetRow& row);
[[nodiscard]] bool read_budget_numbered(std::int64_t number, BudgetRow& row);

/// The row of an existing budget, and that of its root.
[[nodiscard]] BudgetRow require_budget(Oid budget);
[[nodiscard]] BudgetRow root_of(const BudgetRow& row);

/// The numbers of the budgets directly within this one, in CurrentMemoryContext.
[[nodiscard]] List* budgets_within(std::int64_t number);

/// Whether there is a budget that renews.
[[nodiscard]] bool any_budget_renews();

/// Its name for messages; its number where its view is lost.
[[nodiscard]] const char* name_of_budget(const BudgetRow& row);

/// Stores it; a budget within another one is stored without a unit.
void insert_budget_row(const BudgetRow& row);
/// Stores the types of a root.
void update_budget_types(const BudgetRow& row);
void update_last_entry(std::int64_t number, std::int64_t entry);
/// Moves it to the dropped budgets, with the most that it has spent. Of one whose view is lost,
/// `name` is null and the owner invalid.
void drop_budget_row(const BudgetRow& row, const char* name, Oid owner, Numeric spent);

/// What is left of a dropped one.
struct DroppedBudgetRow {
    std::int64_t number;
    const char* name; ///< its last one; null where its view was lost
    Numeric spent;    ///< the most that a unit has lost
    std::int64_t within;
    TimestampTz dropped_at;
    const char* dropped_by;
};
/// All, as a list of DroppedBudgetRow* in CurrentMemoryContext, by number.
[[nodiscard]] List* dropped_budgets();

/// Holds the lock to the end of the transaction. Reads after it see the last committed entries. Who
/// locks two locks the lesser number first.
void lock_budget(std::int64_t number);

} // namespace dp_counter::pg
