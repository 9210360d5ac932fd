#include <algorithm>

#include "pg/budgets/budgets.hpp"

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/entries.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/faces.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace dp_counter::pg {

namespace {

/// A charge to a budget for life is for all times.
EntryRange range_of_entry(EntryRange range, std::int32_t per_days) {
    if (per_days == 0)
        return kAllTimes;
    if (range.since < MIN_TIMESTAMP + per_days * USECS_PER_DAY)
        range.since = DT_NOBEGIN; // dp_budgets subtracts per from it
    return range;
}

/// "2026-01-01 00:00:00 to infinity, in UTC"
char* shown_range(EntryRange range, Oid time_type) {
    return psprintf("%s to %s%s", text_of(range.since), text_of(range.until),
                    time_type == TIMESTAMPTZOID ? ", in UTC" : "");
}

/// The detail of the error where too little is left of a budget that renews.
char* detail_of(const Remaining& remaining, EntryRange range, Oid time_type) {
    const char* rows = psprintf("The charge is for rows from %s", shown_range(range, time_type));
    return remaining.enough_from < range.until
               ? psprintf("%s; enough is left for those from %s on.", rows,
                          text_of(remaining.enough_from))
               : psprintf("%s; no later beginning leaves enough.", rows);
}

void check_range(const BudgetRow& row, EntryRange range) {
    if (range.since < row.range.since || range.until > row.range.until)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("budget \"%s\" is for rows from %s", name_of_budget(row),
                        shown_range(row.range, row.time_type)),
                 errdetail("The charge is for rows from %s.", shown_range(range, row.time_type)),
                 errhint("Choose since and until, or the horizon of a counter, such that all rows "
                         "are in the range of the budget, or use another budget.%s",
                         row.time_type == TIMESTAMPTZOID && range.since < row.range.since
                             ? psprintf(" since is local to the source's time zone: the first "
                                        "that fits is the local time of %s UTC.",
                                        text_of(row.range.since))
                             : "")));
}

/// Those that count. The last one is missing where a dump was restored without them.
const List* charges_of(const BudgetRow& row) {
    if (row.last_entry != 0 && !has_entry(row.last_entry))
        raise_damaged("the charges of the budget are missing");
    return entries_of(row.number);
}

/// Locks the budget that the counter has charged; false if there is none.
bool lock_charge_of_counter(std::int64_t number) {
    const std::int64_t budget = entry_numbered(number).budget;
    if (budget != 0)
        lock_budget(budget);
    return budget != 0;
}

} // namespace

void check_not_lost(Oid budget) {
    if (!OidIsValid(budget))
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("the view of the budget is lost"),
                 errhint("dp_budgets shows such a budget to members of pg_monitor. A superuser can "
                         "restore its view, which names it by its number.")));
}

void check_is_budget(Oid budget) {
    if (number_in(kFacesOfBudgets, budget) == 0)
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("\"%s\" is not a budget", name_of_relation(budget)),
                 errhint("The view dp_budgets lists the budgets; dp_budget_create creates one.")));
}

void check_budget_owned(Oid budget) {
    check_owner(budget); // before the lock, so that nobody else can make others wait
    LockRelationOid(budget, AccessShareLock);
    check_owner(budget);
    check_is_budget(budget);
}

void check_budget_chargeable(Oid budget) {
    check_owner_or_privilege(budget, ACL_INSERT);
    LockRelationOid(budget, AccessShareLock);
    check_owner_or_privilege(budget, ACL_INSERT);
    check_is_budget(budget);
}

bool is_within(Oid budget, std::int64_t ancestor) {
    BudgetRow row{};
    bool found = read_budget(budget, row);
    while (found && row.number != ancestor)
        found = row.within != 0 && read_budget_numbered(row.within, row);
    return found;
}

Oid chargeable_within(Oid budget) {
    BudgetRow row{};
    List* below = read_budget(budget, row) ? budgets_within(row.number) : NIL;
    for (int i = 0; i < list_length(below); ++i) {
        if (!read_budget_numbered(number_at(list_nth_cell(below, i)), row) ||
            !OidIsValid(row.budget))
            continue;
        if (is_owner_or_may(row.budget, ACL_INSERT))
            return row.budget;
        below = list_concat(below, budgets_within(row.number));
    }
    return InvalidOid;
}

Oid root_of_budget(Oid budget) {
    BudgetRow row{};
    if (!read_budget(budget, row))
        return budget;
    const Oid root = root_of(row).budget;
    check_not_lost(root);
    return root;
}

Oid budget_of_counter(std::int64_t number) {
    BudgetRow row{};
    return read_budget_numbered(entry_numbered(number).budget, row) ? row.budget : InvalidOid;
}

void insert_budget(Oid budget, std::int64_t number, Numeric epsilon, std::int32_t per_days,
                   BudgetLimits limits) {
    const std::int64_t key_digest = per_days == 0 ? 0 : make_window_key();
    insert_budget_row({budget, number, epsilon, per_days, InvalidOid, InvalidOid, 0, number,
                       kAllTimes, limits.least_epsilon, limits.most_cells, key_digest, 0});
}

void insert_budget_within(Oid budget, std::int64_t number, Numeric epsilon, Oid within,
                          EntryRange range, BudgetLimits limits) {
    const BudgetRow above = require_budget(within);
    insert_budget_row({budget, number, epsilon, 0, InvalidOid, InvalidOid, above.number, above.root,
                       range_of_entry(range, above.per_days), limits.least_epsilon,
                       limits.most_cells, 0, 0});
    charge_budget(within, epsilon, quoted_name(budget), number, range);
}

void check_not_empty(EntryRange range) {
    if (range.since >= range.until)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("until must be after since, %s, not %s", text_of(range.since),
                               text_of(range.until))));
}

void charge_budget(Oid budget, Numeric epsilon, const char* purpose, std::int64_t number,
                   EntryRange range, EntryRange begins) {
    const BudgetRow row = require_budget(budget);
    lock_budget(row.number);
    check_owner_or_privilege(budget, ACL_INSERT); // revoked while it waited
    range = range_of_entry(range, row.per_days);
    check_range(row, range);
    const BudgetEntry entry{range, begins, epsilon};
    const Remaining remaining = remaining_of(row.epsilon, charges_of(row), row.per_days, entry);
    if (is_less(remaining.least, epsilon))
        ereport(
            ERROR,
            (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
             errmsg("budget \"%s\" has an epsilon of %s left, not %s", name_of_relation(budget),
                    text_of(remaining.least), text_of(epsilon)),
             row.per_days != 0 ? errdetail("%s", detail_of(remaining, range, row.time_type)) : 0,
             errhint("%sThe view %s lists what has spent it. Dropping a counter that never "
                     "closed a step refunds its epsilon%s%s.",
                     is_less(zero_epsilon(), remaining.least)
                         ? psprintf("An epsilon of at most %s fits. ", text_of(remaining.least))
                         : "",
                     quoted_name(budget),
                     row.per_days != 0
                         ? ", dropping another ends its charge at its last closed step"
                         : "",
                     budgets_within(row.number) != NIL
                         ? ", dropping a budget within it returns what that has not spent"
                         : "")));
    update_last_entry(row.number, insert_entry(row.number, number, purpose, entry));
}

Numeric left_of_budget(Oid budget, EntryRange range) {
    const BudgetRow row = require_budget(budget);
    range = range_of_entry(range, row.per_days);
    check_range(row, range);
    return left_of(row.epsilon, charges_of(row), row.per_days, range);
}

Numeric left_for_counter(std::int64_t number) {
    BudgetRow row{};
    if (!read_budget_numbered(entry_numbered(number).budget, row))
        return nullptr;
    const List* entries = charges_of(row);
    Numeric least = row.epsilon;
    const ListCell* cell = nullptr;
    foreach (cell, entries_numbered(number)) {
        const auto* entry = static_cast<const BudgetEntry*>(lfirst(cell));
        least = smaller(least,
                        left_of(row.epsilon, entries, row.per_days, entry->range, entry->begins));
    }
    return least;
}

EntryRange range_of_counter(std::int64_t number) {
    const NumberedEntry entry = entry_numbered(number);
    if (entry.budget == 0)
        raise_damaged("the charge of the counter is missing");
    return entry.range;
}

Oid time_type_of_counter(std::int64_t number) {
    BudgetRow row{};
    const bool found = read_budget_numbered(entry_numbered(number).budget, row);
    return found && row.per_days != 0 ? row.time_type : InvalidOid;
}

void end_charge_of_counter(std::int64_t number, Timestamp cut) {
    if (!lock_charge_of_counter(number))
        return;
    const EntryRange range = range_of_counter(number);
    end_entries(number, std::clamp(cut, range.since, range.until));
}

void close_charge_of_counter(std::int64_t number, const char* name) {
    if (lock_charge_of_counter(number))
        close_entries(number, name);
}

void book_resumption(std::int64_t number, const char* counter) {
    if (!lock_charge_of_counter(number))
        return;
    const NumberedEntry entry = entry_numbered(number);
    insert_entry(entry.budget, kNoCounter, psprintf("dp_counter_resume of %s", counter),
                 {entry.range, kAllTimes, zero_epsilon()});
}

void refund_budget(std::int64_t number) {
    if (lock_charge_of_counter(number))
        refund_entries(number);
}

} // namespace dp_counter::pg
