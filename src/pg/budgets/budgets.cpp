#include <algorithm>

#include "pg/budgets/budgets.hpp"

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum EntryColumn {
    kOfBudget,
    kCounter,
    kPurpose,
    kSpent,
    kSince,
    kUntil,
    kRole,
    kSpentAt,
};

List* entries_of(const BudgetRow& budget) {
    List* entries = NIL;
    visit_secret_rows(kEntries, {number_key(budget.number)}, [&](const Datum* values, const bool*) {
        auto* entry = static_cast<BudgetEntry*>(palloc(sizeof(BudgetEntry)));
        *entry = {{DatumGetTimestamp(values[kSince]), DatumGetTimestamp(values[kUntil])},
                  DatumGetNumericCopy(values[kSpent])};
        entries = lappend(entries, entry);
    });
    return entries;
}

/// Reads the entry of a counter; the number of its budget is 0 if there is none.
struct CounterEntry {
    std::int32_t budget;
    EntryRange range;
};
CounterEntry entry_of(std::int32_t number) {
    CounterEntry entry{};
    visit_secret_rows(
        kEntryOfCounter, {number_key(number, kCounter)}, [&](const Datum* values, const bool*) {
            entry = {DatumGetInt32(values[kOfBudget]),
                     {DatumGetTimestamp(values[kSince]), DatumGetTimestamp(values[kUntil])}};
        });
    return entry;
}

char* text_of(Timestamp time) {
    return DatumGetCString(DirectFunctionCall1(timestamp_out, TimestampGetDatum(time)));
}

/// The detail of the error where too little is left of a budget that renews.
char* detail_of(const Rest& rest, EntryRange range, Oid time_type) {
    const char* rows =
        psprintf("The charge is for rows from %s to %s%s", text_of(range.since),
                 text_of(range.until), time_type == TIMESTAMPTZOID ? ", in UTC" : "");
    return rest.enough_from < range.until ? psprintf("%s; enough is left for those from %s on.",
                                                     rows, text_of(rest.enough_from))
                                          : psprintf("%s; no later beginning leaves enough.", rows);
}

} // namespace

bool is_budget(Oid budget) {
    return has_secret_row(kBudgets, {oid_key(budget)});
}

void check_budget_usable(Oid budget) {
    check_owner(budget); // before the lock, so that nobody else can make others wait
    LockRelationOid(budget, AccessShareLock);
    check_owner(budget);
    if (!is_budget(budget))
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("\"%s\" is not a budget", get_rel_name(budget)),
                 errhint("The view dp_budgets lists the budgets; dp_budget_create creates one.")));
}

void insert_budget(Oid budget, std::int32_t number, Numeric epsilon, std::int32_t per_days) {
    insert_budget_row({budget, number, epsilon, per_days, InvalidOid, InvalidOid});
    if (per_days != 0)
        make_window_key();
}

void check_not_empty(EntryRange range) {
    if (range.since >= range.until)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("until must be after since, %s, not %s", text_of(range.since),
                               text_of(range.until))));
}

void charge_budget(Oid budget, Numeric epsilon, const char* purpose, std::int32_t number,
                   EntryRange range) {
    BudgetRow row{};
    if (!read_budget(budget, row))
        elog(ERROR, "relation %u is not a budget", budget);
    lock_budget(row.number);
    const bool renews = row.per_days != 0;
    if (!renews)
        range = kAllTimes;
    else if (range.since < MIN_TIMESTAMP + row.per_days * USECS_PER_DAY)
        range.since = DT_NOBEGIN; // dp_budgets subtracts per from it
    const Rest rest = rest_of(row.epsilon, entries_of(row), row.per_days, range, epsilon);
    if (DatumGetBool(
            DirectFunctionCall2(numeric_gt, NumericGetDatum(epsilon), NumericGetDatum(rest.least))))
        ereport(
            ERROR,
            (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
             errmsg("budget \"%s\" has an epsilon of %s left, not %s", get_rel_name(budget),
                    text_of(rest.least), text_of(epsilon)),
             renews ? errdetail("%s", detail_of(rest, range, row.time_type)) : 0,
             errhint("The view %s lists what has spent it. Dropping a counter that never "
                     "closed a step refunds its epsilon%s.",
                     quoted_name(budget),
                     renews ? ", dropping another ends its charge at its last closed step" : "")));
    insert_secret_row(kEntries,
                      {{kOfBudget, Int32GetDatum(row.number)},
                       {kCounter, Int32GetDatum(number), number == kNoCounter},
                       {kPurpose, CStringGetTextDatum(purpose)},
                       {kSpent, NumericGetDatum(epsilon)},
                       {kSince, TimestampGetDatum(range.since)},
                       {kUntil, TimestampGetDatum(range.until)},
                       {kRole, CStringGetTextDatum(GetUserNameFromId(GetUserId(), false))},
                       {kSpentAt, TimestampTzGetDatum(GetCurrentTimestamp())}});
}

EntryRange range_of_counter(std::int32_t number) {
    const CounterEntry entry = entry_of(number);
    if (entry.budget == 0)
        raise_damaged("the charge of the counter is missing");
    return entry.range;
}

Oid time_type_of_counter(std::int32_t number) {
    BudgetRow row{};
    return read_budget_numbered(entry_of(number).budget, row) && row.per_days != 0 ? row.time_type
                                                                                   : InvalidOid;
}

void end_charge_of_counter(std::int32_t number, Timestamp cut) {
    if (!OidIsValid(time_type_of_counter(number)))
        return;
    lock_budget(entry_of(number).budget);
    const EntryRange range = range_of_counter(number);
    (void)replace_in_secret_row(
        kEntryOfCounter, {number_key(number, kCounter)},
        {{kUntil, TimestampGetDatum(std::clamp(cut, range.since, range.until))}});
}

void refund_budget(std::int32_t number) {
    const CounterEntry entry = entry_of(number);
    if (entry.budget != 0)
        lock_budget(entry.budget);
    delete_secret_rows(kEntryOfCounter, {number_key(number, kCounter)});
}

bool is_spent_from(Oid budget) {
    BudgetRow row{};
    return read_budget(budget, row) && has_secret_row(kEntries, {number_key(row.number)});
}

void delete_budget(Oid budget) {
    BudgetRow row{};
    if (!read_budget(budget, row))
        return;
    lock_budget(row.number);
    delete_secret_rows(kEntries, {number_key(row.number)});
    delete_budget_row(budget);
}

} // namespace dp_counter::pg
