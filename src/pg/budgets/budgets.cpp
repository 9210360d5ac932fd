#include "pg/budgets/budgets.hpp"

#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/dumps.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum BudgetColumn { kBudget, kNumber, kEpsilon };
enum EntryColumn { kOfBudget, kCounter, kPurpose, kSpent, kSpentAt };

struct Budget {
    std::int32_t number;
    Numeric epsilon;
};

bool read_budget(Oid relation, Budget& budget) {
    return visit_secret_rows(kBudgets, {oid_key(relation)}, [&](const Datum* values, const bool*) {
        budget = {DatumGetInt32(values[kNumber]), DatumGetNumericCopy(values[kEpsilon])};
    });
}

/// Holds the lock to the end of the transaction. Reads after it see the last committed entries.
void lock_budget(std::int32_t number) {
    LockDatabaseObject(secret_relation(kBudgets.table), static_cast<Oid>(number), 0, ExclusiveLock);
}

/// What is left of the budget.
Numeric rest(const Budget& budget) {
    Datum left = NumericGetDatum(budget.epsilon);
    visit_secret_rows(kEntries, {number_key(budget.number)}, [&](const Datum* values, const bool*) {
        left = DirectFunctionCall2(numeric_sub, left, values[kSpent]);
    });
    return DatumGetNumeric(left);
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

void insert_budget(Oid budget, std::int32_t number, Numeric epsilon) {
    keep_in_dumps();
    insert_secret_row(kBudgets, {{kBudget, ObjectIdGetDatum(budget)},
                                 {kNumber, Int32GetDatum(number)},
                                 {kEpsilon, NumericGetDatum(epsilon)}});
}

void charge_budget(Oid budget, Numeric epsilon, const char* purpose, std::int32_t number) {
    Budget row{};
    if (!read_budget(budget, row))
        elog(ERROR, "relation %u is not a budget", budget);
    lock_budget(row.number);
    Numeric left = rest(row);
    if (DatumGetBool(
            DirectFunctionCall2(numeric_gt, NumericGetDatum(epsilon), NumericGetDatum(left))))
        ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                        errmsg("budget \"%s\" has an epsilon of %s left, not %s",
                               get_rel_name(budget), text_of(left), text_of(epsilon)),
                        errhint("The view %s lists what has spent it. Dropping a counter that "
                                "never closed a step refunds its epsilon.",
                                quoted_name(budget))));
    insert_secret_row(kEntries, {{kOfBudget, Int32GetDatum(row.number)},
                                 {kCounter, Int32GetDatum(number), number == kNoCounter},
                                 {kPurpose, CStringGetTextDatum(purpose)},
                                 {kSpent, NumericGetDatum(epsilon)},
                                 {kSpentAt, TimestampTzGetDatum(GetCurrentTimestamp())}});
}

void refund_budget(std::int32_t number) {
    visit_secret_rows(
        kEntryOfCounter, {number_key(number, kCounter)},
        [](const Datum* values, const bool*) { lock_budget(DatumGetInt32(values[kOfBudget])); });
    delete_secret_rows(kEntryOfCounter, {number_key(number, kCounter)});
}

bool is_spent_from(Oid budget) {
    Budget row{};
    return read_budget(budget, row) && has_secret_row(kEntries, {number_key(row.number)});
}

void delete_budget(Oid budget) {
    Budget row{};
    if (!read_budget(budget, row))
        return;
    lock_budget(row.number);
    delete_secret_rows(kEntries, {number_key(row.number)});
    delete_secret_rows(kBudgets, {oid_key(budget)});
}

} // namespace dp_counter::pg
