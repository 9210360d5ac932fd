#include "pg/budgets/drop_budgets.hpp"

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/budgets.hpp"
#include "pg/budgets/entries.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

namespace {

void lock_with_above(const BudgetRow& row) {
    if (row.within != 0)
        lock_budget(row.within);
    lock_budget(row.number);
}

[[noreturn]] void raise_in_use(const BudgetRow& row, const char* what, const char* detail,
                               const char* hint) {
    ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                    errmsg("cannot drop budget %s because %s", name_of_budget(row), what),
                    errdetail("%s", detail), errhint("%s", hint)));
}

/// Counters and budgets whose views are lost do not count: nobody can drop them.
void check_not_in_use(const BudgetRow& row) {
    check_charges_no_source(row.number, name_of_budget(row));
    const ListCell* cell = nullptr;
    BudgetRow last{};
    foreach (cell, budgets_within(row.number)) {
        BudgetRow within{};
        if (read_budget_numbered(number_at(cell), within) && OidIsValid(within.budget) &&
            within.number > last.number)
            last = within;
    }
    if (last.number != 0)
        raise_in_use(row, "a budget is within it",
                     psprintf("Budget %s is within it.", quoted_name(last.budget)),
                     "Drop that budget first: it returns what it has not spent.");
    foreach (cell, numbers_of_entries(row.number)) {
        const Oid counter = counter_numbered(number_at(cell));
        if (OidIsValid(counter))
            raise_in_use(row, "a counter is charged to it",
                         psprintf("Counter %s is charged to it.", quoted_name(counter)),
                         "Keep the budget as the record of what was released, or drop the counter "
                         "first, with its releases. Their epsilon stays spent.");
    }
}

/// In the window that has spent most.
Numeric most_spent(const BudgetRow& row) {
    return difference(row.epsilon,
                      left_of(row.epsilon, entries_of(row.number), row.per_days, kAllTimes));
}

/// All checks are done, and the budgets are locked. `name` is its last one, null where its view is
/// lost.
void drop_row_and_entries(const BudgetRow& row, const char* name, Oid owner) {
    Numeric spent = most_spent(row);
    if (row.within != 0) {
        refund_entries(row.number);
        if (name != nullptr)
            close_entries(row.number, name);
        move_entries(row.number, row.within);
    } else
        close_entries_of_budget(row.number);
    drop_budget_row(row, name, owner, spent);
}

/// Deletes a locked budget that nobody uses, and before it those within it, whose views are lost.
void delete_unused(const BudgetRow& row) {
    check_not_in_use(row);
    const ListCell* cell = nullptr;
    foreach (cell, budgets_within(row.number)) {
        lock_budget(number_at(cell));
        BudgetRow within{};
        if (read_budget_numbered(number_at(cell), within))
            delete_unused(within);
    }
    if (OidIsValid(row.budget))
        drop_row_and_entries(row, quoted_name(row.budget), owner_of(row.budget));
    else
        drop_row_and_entries(row, nullptr, InvalidOid);
}

struct DroppedBudget {
    BudgetRow row;
    const char* name;
};

/// What is within another budget before that one.
int compare_depth(const ListCell* a, const ListCell* b) {
    const std::int64_t left = static_cast<const DroppedBudget*>(lfirst(a))->row.number;
    const std::int64_t right = static_cast<const DroppedBudget*>(lfirst(b))->row.number;
    if (left == right)
        return 0;
    return left > right ? -1 : 1;
}

List* budgets_among(const List* dropped) {
    List* budgets = NIL;
    const ListCell* cell = nullptr;
    foreach (cell, dropped) {
        const auto* view = static_cast<const DroppedView*>(lfirst(cell));
        BudgetRow row{};
        if (!read_budget(view->view, row))
            continue;
        auto* budget = static_cast<DroppedBudget*>(palloc(sizeof(DroppedBudget)));
        *budget = {row, view->name};
        budgets = lappend(budgets, budget);
    }
    list_sort(budgets, compare_depth);
    return budgets;
}

} // namespace

void delete_budget(Oid budget) {
    forget_lost_sources();
    const BudgetRow row = require_budget(budget);
    lock_with_above(row);
    delete_unused(row);
}

void lock_budgets_of(const List* dropped) {
    List* numbers = NIL;
    const ListCell* cell = nullptr;
    foreach (cell, dropped) {
        const Oid view = static_cast<const DroppedView*>(lfirst(cell))->view;
        BudgetRow row{};
        const std::int64_t counter = number_of_counter(view);
        if (read_budget(view, row))
            numbers = lappend_number(lappend_number(numbers, row.within), row.number);
        else if (counter != 0)
            numbers = lappend_number(numbers, entry_numbered(counter).budget);
    }
    sort_numbers(numbers);
    foreach (cell, numbers) {
        if (number_at(cell) != 0)
            lock_budget(number_at(cell));
    }
}

void delete_unspent_budgets(const List* dropped) {
    const ListCell* cell = nullptr;
    foreach (cell, budgets_among(dropped)) {
        const auto* budget = static_cast<const DroppedBudget*>(lfirst(cell));
        forget_lost_sources();
        check_charges_no_source(budget->row.number, budget->name);
        if (has_entries(budget->row.number))
            ereport(
                ERROR,
                (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                 errmsg("cannot drop budget %s because it has been spent from", budget->name),
                 errhint("Use dp_budget_drop(budget) to drop it and %s, or REASSIGN OWNED to "
                         "give the budgets of a role to another role.",
                         budget->row.within != 0 ? "leave what was spent in the budget it is within"
                                                 : "end its promise")));
        drop_row_and_entries(budget->row, budget->name, InvalidOid);
    }
}

} // namespace dp_counter::pg
