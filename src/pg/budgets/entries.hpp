// What has spent each budget: the table of entries.
#pragma once

#include <cstdint>

#include "pg/budgets/sweep.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

// No entry is ever deleted: one that is refunded, or ends earlier, says when and by whom. A
// refunded one counts nothing.

/// Those of a budget with this number that count: a list of BudgetEntry* in CurrentMemoryContext.
[[nodiscard]] List* entries_of(std::int64_t budget);

/// The entry of the counter, or of the budget within another one, with this number, unless it is
/// closed. A counter that continues another one may have two, of one budget and one range.
struct NumberedEntry {
    std::int64_t budget; ///< 0: there is none
    EntryRange range;
};
[[nodiscard]] NumberedEntry entry_numbered(std::int64_t number);
/// All of these, as entries_of.
[[nodiscard]] List* entries_numbered(std::int64_t number);

/// That count.
[[nodiscard]] bool has_entries(std::int64_t budget);

/// The counters and budgets that have an entry of this budget: their numbers, also of dropped ones.
[[nodiscard]] List* numbers_of_entries(std::int64_t budget);

/// Whether there is one with this number of its own, of whichever budget.
[[nodiscard]] bool has_entry(std::int64_t entry);

/// Stores an entry in the name of the current user and that of the session, and returns its number;
/// number kNoCounter: of neither a counter nor a budget.
std::int64_t insert_entry(std::int64_t budget, std::int64_t number, const char* purpose,
                          const BudgetEntry& entry);

/// All that have this number, where they end later. The row keeps the end that it had first.
void end_entries(std::int64_t number, Timestamp until);
/// They stay, with this purpose, and no counter has them any more: they neither end nor are
/// refunded.
void close_entries(std::int64_t number, const char* purpose);
void refund_entries(std::int64_t number);

/// All of a budget that is dropped.
void close_entries_of_budget(std::int64_t budget);
void move_entries(std::int64_t from_budget, std::int64_t to_budget);

} // namespace dp_counter::pg
