#include "pg/live/budgets.hpp"

#include "pg/live/privileges.hpp"
#include "pg/live/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum BudgetColumn { kBudget, kNumber, kEpsilon, kBudgetColumns };
enum EntryColumn { kOfBudget, kCounter, kPurpose, kSpent, kSpentAt, kEntryColumns };

constexpr SecretTable kBudgets{"budgets", "budgets_pkey"};
constexpr SecretTable kEntries{"budget_entries", "budget_entries_budget_idx"};
constexpr SecretTable kEntriesOfCounters{"budget_entries", "budget_entries_counter_key"};

struct Budget {
    std::int32_t number;
    Numeric epsilon;
};

/// Calls visit(table, row, values) for every row as it was last committed whose column, the first
/// one of the index, is the key.
template <class Visit>
void for_rows(const SecretTable& from, int column, RegProcedure equal, Datum key, Visit visit) {
    constexpr int kColumns = kEntryColumns;
    static_assert(kBudgetColumns <= kColumns);
    Relation table = open_secret(from);
    ScanKeyData scan_key;
    ScanKeyInit(&scan_key, static_cast<AttrNumber>(column + 1), BTEqualStrategyNumber, equal, key);
    SysScanDesc scan =
        systable_beginscan(table, secret_relation(from.index), true, nullptr, 1, &scan_key);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        Datum values[kColumns] = {};
        bool nulls[kColumns] = {};
        heap_deform_tuple(row, RelationGetDescr(table), values, nulls);
        visit(table, row, values);
    }
    systable_endscan(scan);
    close_secret(table);
}

template <class Visit>
void for_budget(Oid budget, Visit visit) {
    for_rows(kBudgets, kBudget, F_OIDEQ, ObjectIdGetDatum(budget), visit);
}

template <class Visit>
void for_entries(std::int32_t number, Visit visit) {
    for_rows(kEntries, kOfBudget, F_INT4EQ, Int32GetDatum(number), visit);
}

bool read_budget(Oid relation, Budget& budget) {
    bool found = false;
    for_budget(relation, [&](Relation, HeapTuple, const Datum* values) {
        budget = {DatumGetInt32(values[kNumber]), DatumGetNumericCopy(values[kEpsilon])};
        found = true;
    });
    return found;
}

/// Held to the end of the transaction: what is read after it are the last committed entries.
void lock_budget(std::int32_t number) {
    LockDatabaseObject(secret_relation(kBudgets.table), static_cast<Oid>(number), 0, ExclusiveLock);
}

template <class Values>
void insert(const SecretTable& into, Values& values, bool* nulls) {
    Relation table = open_secret(into);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
    close_secret(table);
    CommandCounterIncrement();
}

/// What has not been spent.
Numeric rest(const Budget& budget) {
    Datum left = NumericGetDatum(budget.epsilon);
    for_entries(budget.number, [&](Relation, HeapTuple, const Datum* values) {
        left = DirectFunctionCall2(numeric_sub, left, values[kSpent]);
    });
    return DatumGetNumeric(left);
}

char* text_of(Numeric number) {
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
}

} // namespace

bool is_budget(Oid budget) {
    bool found = false;
    for_budget(budget, [&](Relation, HeapTuple, const Datum*) { found = true; });
    return found;
}

void check_budget_usable(Oid budget) {
    check_owner(budget); // before the lock, so that nobody else can make others wait
    LockRelationOid(budget, AccessShareLock);
    check_owner(budget);
    if (!is_budget(budget))
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("\"%s\" is not a budget", get_rel_name(budget)),
                 errhint("dp_budget_create makes budgets; the view dp_budgets lists them.")));
}

void insert_budget(Oid budget, std::int32_t number, Numeric epsilon) {
    Datum values[kBudgetColumns] = {};
    bool nulls[kBudgetColumns] = {};
    values[kBudget] = ObjectIdGetDatum(budget);
    values[kNumber] = Int32GetDatum(number);
    values[kEpsilon] = NumericGetDatum(epsilon);
    insert(kBudgets, values, nulls);
}

void charge_budget(Oid budget, Numeric epsilon, const char* purpose, std::int32_t counter) {
    Budget row{};
    if (!read_budget(budget, row))
        elog(ERROR, "relation %u is not a budget", budget);
    lock_budget(row.number);
    Numeric left = rest(row);
    if (DatumGetBool(
            DirectFunctionCall2(numeric_gt, NumericGetDatum(epsilon), NumericGetDatum(left))))
        ereport(ERROR,
                (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                 errmsg("budget \"%s\" has an epsilon of %s left, not %s", get_rel_name(budget),
                        text_of(left), text_of(epsilon)),
                 errhint("The view %s lists what has spent it. A counter that never closed a step "
                         "gives its epsilon back when it is dropped.",
                         quoted_name(budget))));
    Datum values[kEntryColumns] = {};
    bool nulls[kEntryColumns] = {};
    values[kOfBudget] = Int32GetDatum(row.number);
    values[kCounter] = Int32GetDatum(counter);
    nulls[kCounter] = counter == kNoCounter;
    values[kPurpose] = CStringGetTextDatum(purpose);
    values[kSpent] = NumericGetDatum(epsilon);
    values[kSpentAt] = TimestampTzGetDatum(GetCurrentTimestamp());
    insert(kEntries, values, nulls);
}

void refund_budget(std::int32_t counter) {
    const auto for_entry = [&](auto visit) {
        for_rows(kEntriesOfCounters, kCounter, F_INT4EQ, Int32GetDatum(counter), visit);
    };
    for_entry([](Relation, HeapTuple, const Datum* values) {
        lock_budget(DatumGetInt32(values[kOfBudget]));
    });
    for_entry([](Relation table, HeapTuple row, const Datum*) {
        CatalogTupleDelete(table, &row->t_self);
    });
    CommandCounterIncrement();
}

bool is_spent_from(Oid budget) {
    Budget row{};
    bool found = false;
    if (read_budget(budget, row))
        for_entries(row.number, [&](Relation, HeapTuple, const Datum*) { found = true; });
    return found;
}

void delete_budget(Oid budget) {
    const auto remove = [](Relation table, HeapTuple row, const Datum*) {
        CatalogTupleDelete(table, &row->t_self);
    };
    Budget row{};
    if (!read_budget(budget, row))
        return;
    lock_budget(row.number);
    for_entries(row.number, remove);
    for_budget(budget, remove);
    CommandCounterIncrement();
}

} // namespace dp_counter::pg
