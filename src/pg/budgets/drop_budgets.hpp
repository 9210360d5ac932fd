// The end of budgets, and what stays spent above them.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Deletes a budget whose view is locked, and keeps what it has spent among the dropped ones. One
/// within another budget leaves its entries there, in the place of its own entry, so that nothing
/// that was spent is given back. Raises dependent_objects_still_exist if there is a source that
/// names it, a budget within it, or a counter that is charged to it.
void delete_budget(Oid budget);

/// A view that was dropped, which may be a budget.
struct DroppedView {
    Oid view;
    const char* name;
};

/// Locks all budgets that the end of these views (DroppedView*) changes, in the order of
/// lock_budget: those among them, those above, and those that counters among them charged.
void lock_budgets_of(const List* dropped);

/// Deletes the budgets among these views, which were dropped by other ways than
/// dp_budget_drop. Raises dependent_objects_still_exist for one from which something was spent, or
/// that a source names: DROP OWNED, for example, would silently end the promise.
void delete_unspent_budgets(const List* dropped);

} // namespace dp_counter::pg
