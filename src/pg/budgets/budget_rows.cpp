#include "pg/budgets/budget_rows.hpp"

#include "pg/tables/dumps.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kBudget, kNumber, kEpsilon, kPer, kPersonType, kTimeType };

bool read(const SecretTable& names, const SecretKey& key, BudgetRow& row) {
    return visit_secret_rows(names, {key}, [&](const Datum* values, const bool* nulls) {
        row = {DatumGetObjectId(values[kBudget]),
               DatumGetInt32(values[kNumber]),
               DatumGetNumericCopy(values[kEpsilon]),
               nulls[kPer] ? 0 : DatumGetIntervalP(values[kPer])->day,
               nulls[kPersonType] ? InvalidOid : DatumGetObjectId(values[kPersonType]),
               nulls[kTimeType] ? InvalidOid : DatumGetObjectId(values[kTimeType])};
    });
}

} // namespace

bool read_budget(Oid budget, BudgetRow& row) {
    return read(kBudgets, oid_key(budget), row);
}

bool read_budget_numbered(std::int32_t number, BudgetRow& row) {
    return read(kBudgetsByNumber, number_key(number, kNumber), row);
}

void insert_budget_row(const BudgetRow& row) {
    keep_in_dumps();
    Interval per{};
    per.day = row.per_days;
    insert_secret_row(kBudgets, {{kBudget, ObjectIdGetDatum(row.budget)},
                                 {kNumber, Int32GetDatum(row.number)},
                                 {kEpsilon, NumericGetDatum(row.epsilon)},
                                 {kPer, IntervalPGetDatum(&per), row.per_days == 0}});
}

void update_budget_types(const BudgetRow& row) {
    (void)replace_in_secret_row(kBudgets, {oid_key(row.budget)},
                                {{kPersonType, ObjectIdGetDatum(row.person_type)},
                                 {kTimeType, ObjectIdGetDatum(row.time_type)}});
}

void delete_budget_row(Oid budget) {
    delete_secret_rows(kBudgets, {oid_key(budget)});
}

void lock_budget(std::int32_t number) {
    LockDatabaseObject(secret_relation(kBudgets.table), static_cast<Oid>(number), 0, ExclusiveLock);
}

} // namespace dp_counter::pg
