#include "pg/budgets/budget_rows.hpp"

#include "pg/tables/dumps.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum Column {
    kBudget,
    kNumber,
    kEpsilon,
    kPer,
    kPersonType,
    kTimeType,
    kWithin,
    kRoot,
    kSince,
    kUntil,
    kLeastEpsilon,
    kMostCells
};

bool read(const SecretTable& names, const SecretKey& key, BudgetRow& row) {
    return visit_secret_rows(names, {key}, [&](const Datum* values, const bool* nulls) {
        row.budget = DatumGetObjectId(values[kBudget]);
        row.number = DatumGetInt32(values[kNumber]);
        row.epsilon = DatumGetNumericCopy(values[kEpsilon]);
        row.per_days = nulls[kPer] ? 0 : DatumGetIntervalP(values[kPer])->day;
        row.person_type = nulls[kPersonType] ? InvalidOid : DatumGetObjectId(values[kPersonType]);
        row.time_type = nulls[kTimeType] ? InvalidOid : DatumGetObjectId(values[kTimeType]);
        row.within = nulls[kWithin] ? 0 : DatumGetInt32(values[kWithin]);
        row.root = DatumGetInt32(values[kRoot]);
        row.range = {DatumGetTimestamp(values[kSince]), DatumGetTimestamp(values[kUntil])};
        row.least_epsilon = DatumGetNumericCopy(values[kLeastEpsilon]);
        row.most_cells = DatumGetInt64(values[kMostCells]);
    });
}

} // namespace

bool read_budget(Oid budget, BudgetRow& row) {
    return read(kBudgets, oid_key(budget), row);
}

bool read_budget_numbered(std::int32_t number, BudgetRow& row) {
    return read(kBudgetsByNumber, number_key(number, kNumber), row);
}

BudgetRow require_budget(Oid budget) {
    BudgetRow row{};
    if (!read_budget(budget, row))
        elog(ERROR, "relation %u is not a budget", budget);
    return row;
}

BudgetRow root_of(const BudgetRow& row) {
    BudgetRow root = row;
    if (row.root != row.number && !read_budget_numbered(row.root, root))
        raise_damaged("the outermost budget is missing");
    return root;
}

Oid any_budget_within(std::int32_t number) {
    Oid within = InvalidOid;
    std::int32_t last = 0;
    visit_secret_rows(kBudgetsWithin, {number_key(number, kWithin)},
                      [&](const Datum* values, const bool*) {
                          if (DatumGetInt32(values[kNumber]) < last)
                              return;
                          last = DatumGetInt32(values[kNumber]);
                          within = DatumGetObjectId(values[kBudget]);
                      });
    return within;
}

void insert_budget_row(const BudgetRow& row) {
    keep_in_dumps();
    Interval per{};
    per.day = row.per_days;
    insert_secret_row(kBudgets, {{kBudget, ObjectIdGetDatum(row.budget)},
                                 {kNumber, Int32GetDatum(row.number)},
                                 {kEpsilon, NumericGetDatum(row.epsilon)},
                                 {kPer, IntervalPGetDatum(&per), row.per_days == 0},
                                 {kWithin, Int32GetDatum(row.within), row.within == 0},
                                 {kRoot, Int32GetDatum(row.root)},
                                 {kSince, TimestampGetDatum(row.range.since)},
                                 {kUntil, TimestampGetDatum(row.range.until)},
                                 {kLeastEpsilon, NumericGetDatum(row.least_epsilon)},
                                 {kMostCells, Int64GetDatum(row.most_cells)}});
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
