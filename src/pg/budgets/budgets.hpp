// Budgets: how much epsilon may be spent about a population, and what has spent it.
//
// Sums are decimal and exact, as declared: ten times 0.1 fit into 1.0. A transaction charges a
// budget under a lock that it holds to its end, so that no two transactions spend the same rest. A
// rollback undoes the charge.
//
// A budget for life adds up all charges. One that renews adds up those whose ranges of the rows'
// times meet a window (sweep.hpp).
//
// A budget within another one is an entry of that one, for as long as it is there; what it spends
// itself is checked against it alone. All budgets within a root have the root's unit (unit.hpp).
#pragma once

#include <cstdint>

#include "pg/budgets/sweep.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// No counter: a charge for a query.
inline constexpr std::int64_t kNoCounter = 0;

/// Raises object_not_in_prerequisite_state for InvalidOid: a source's budget whose view is lost.
void check_not_lost(Oid budget);

/// Raises wrong_object_type if the relation is not a budget.
void check_is_budget(Oid budget);

/// Keeps the budget from being dropped until the transaction ends, and raises
/// undefined_table if there is no such relation, insufficient_privilege unless the current user is
/// a member of its owner, and wrong_object_type if it is not a budget.
void check_budget_owned(Oid budget);

/// The same for a user who owns it or has INSERT on it.
void check_budget_chargeable(Oid budget);

/// Whether the budget, or one that it is within at any depth, has this number.
[[nodiscard]] bool is_within(Oid budget, std::int64_t ancestor);

/// The first budget within this one, at any depth, that the current user may charge; invalid if
/// there is none.
[[nodiscard]] Oid chargeable_within(Oid budget);

/// The outermost budget that this one is within: itself, also if it is no budget.
[[nodiscard]] Oid root_of_budget(Oid budget);

/// The guarantee of all charges to an existing budget together, in sentences: for whom, and by
/// which factor, rounded up, any outcome may become more likely.
[[nodiscard]] char* promise_of(Oid existing);

/// What one counter may be that an analyst declares. Trivial.
struct BudgetLimits {
    Numeric least_epsilon;
    std::int64_t most_cells; ///< groups times periods a year
};

/// The budget to which the counter with this number was charged; invalid if there is none, or its
/// view is lost.
[[nodiscard]] Oid budget_of_counter(std::int64_t number);

/// Stores a budget from which nothing has been spent; per_days 0: for a person's life.
void insert_budget(Oid budget, std::int64_t number, Numeric epsilon, std::int32_t per_days,
                   BudgetLimits limits);

/// The same within a usable budget, which is charged for the range.
void insert_budget_within(Oid budget, std::int64_t number, Numeric epsilon, Oid within,
                          EntryRange range, BudgetLimits limits);

/// Raises invalid_parameter_value unless `until` is after `since`.
void check_not_empty(EntryRange range);

/// Charges a budget that check_budget_chargeable let pass, in the current transaction, in the name
/// of the current user, for the windows that meet the range of rows and begin within `begins`. The
/// range is not empty; a budget for life has no use for either. Raises
/// insufficient_privilege if the right was revoked while the charge waited for others,
/// invalid_parameter_value if the range is not within that of the budget, and
/// configuration_limit_exceeded, whose message shows what is left and from when on there is enough,
/// if that is less than epsilon.
void charge_budget(Oid budget, Numeric epsilon, const char* purpose, std::int64_t number,
                   EntryRange range, EntryRange begins = kAllTimes);

/// What is left of an existing budget for each window that meets the range, which is not empty.
/// Raises invalid_parameter_value if that is not within the budget's.
[[nodiscard]] Numeric left_of_budget(Oid budget, EntryRange range);

/// The same for the windows that the counter with this number was charged for; null if there is no
/// charge.
[[nodiscard]] Numeric left_for_counter(std::int64_t number);

/// The times for which the counter with this number was charged. Raises data_corrupted if it was
/// not.
[[nodiscard]] EntryRange range_of_counter(std::int64_t number);

/// The type of the times of the counter's range; invalid where its budget is for life.
[[nodiscard]] Oid time_type_of_counter(std::int64_t number);

/// Ends the charge of a counter that reads no rows from `cut` on, where its budget renews.
void end_charge_of_counter(std::int64_t number, Timestamp cut);

/// Keeps the charge of a counter that is dropped, if it has one, with its last name. No counter has
/// it any more, also not the same one out of a dump that is restored over this database: it would
/// release again what was released, or get its charge refunded.
void close_charge_of_counter(std::int64_t number, const char* name);

/// Notes in the budget of the counter with this number, if it has a charge, that it was resumed: at
/// an epsilon of 0, since nobody knows whether the original spends the charge too.
void book_resumption(std::int64_t number, const char* counter);

/// Refunds the charge of the counter with this number, if it has one. Only for a counter that never
/// closed a step.
void refund_budget(std::int64_t number);

} // namespace dp_counter::pg
