#include "pg/budgets/budget_rows.hpp"

#include "pg/tables/counters_table.hpp"
#include "pg/tables/dumps.hpp"
#include "pg/tables/faces.hpp"
#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

namespace {

enum Column {
    kNumber,
    kBudget,
    kEpsilon,
    kPer,
    kPersonType,
    kTimeType,
    kWithin,
    kRoot,
    kSince,
    kUntil,
    kLeastEpsilon,
    kMostCells,
    kKeyDigest,
    kLastEntry
};

enum DroppedColumn {
    kDroppedNumber,
    kDroppedName,
    kDroppedEpsilon,
    kDroppedPer,
    kDroppedSpent,
    kDroppedWithin,
    kDroppedSince,
    kDroppedUntil,
    kDroppedOwner,
    kDroppedOwnerName,
    kDroppedAt,
    kDroppedBy
};

} // namespace

bool read_budget(Oid budget, BudgetRow& row) {
    return read_budget_numbered(number_in(kFacesOfBudgets, budget), row);
}

bool read_budget_numbered(std::int64_t number, BudgetRow& row) {
    const bool found = visit_secret_rows(
        kBudgets, {number_key(number)}, [&](const Datum* values, const bool* nulls) {
            row.number = number;
            row.budget = DatumGetObjectId(values[kBudget]);
            if (!is_face(row.budget, number))
                row.budget = InvalidOid;
            row.epsilon = DatumGetNumericCopy(values[kEpsilon]);
            row.per_days = nulls[kPer] ? 0 : DatumGetIntervalP(values[kPer])->day;
            row.person_type =
                nulls[kPersonType] ? InvalidOid : DatumGetObjectId(values[kPersonType]);
            row.time_type = nulls[kTimeType] ? InvalidOid : DatumGetObjectId(values[kTimeType]);
            row.within = nulls[kWithin] ? 0 : DatumGetInt64(values[kWithin]);
            row.root = DatumGetInt64(values[kRoot]);
            row.range = {DatumGetTimestamp(values[kSince]), DatumGetTimestamp(values[kUntil])};
            row.least_epsilon = DatumGetNumericCopy(values[kLeastEpsilon]);
            row.most_cells = DatumGetInt64(values[kMostCells]);
            row.key_digest = nulls[kKeyDigest] ? 0 : DatumGetInt64(values[kKeyDigest]);
            row.last_entry = nulls[kLastEntry] ? 0 : DatumGetInt64(values[kLastEntry]);
        });
    if (found && row.root != number) {
        const BudgetRow root = root_of(row);
        row.per_days = root.per_days;
        row.person_type = root.person_type;
        row.time_type = root.time_type;
        row.key_digest = root.key_digest;
    }
    return found;
}

BudgetRow require_budget(Oid budget) {
    BudgetRow row{};
    if (!read_budget(budget, row))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("the budget was dropped")));
    return row;
}

BudgetRow root_of(const BudgetRow& row) {
    BudgetRow root = row;
    if (row.root != row.number && !read_budget_numbered(row.root, root))
        raise_damaged("the outermost budget is missing");
    return root;
}

List* budgets_within(std::int64_t number) {
    List* within = NIL;
    visit_secret_rows(kBudgetsWithin, {number_key(number, kWithin)},
                      [&](const Datum* values, const bool*) {
                          within = lappend_number(within, DatumGetInt64(values[kNumber]));
                      });
    return within;
}

bool any_budget_renews() {
    bool renews = false;
    visit_secret_rows(kBudgets, {},
                      [&](const Datum*, const bool* nulls) { renews = renews || !nulls[kPer]; });
    return renews;
}

const char* name_of_budget(const BudgetRow& row) {
    return OidIsValid(row.budget) ? get_rel_name(row.budget)
                                  : psprintf("%lld", static_cast<long long>(row.number));
}

void insert_budget_row(const BudgetRow& row) {
    keep_in_dumps();
    Interval per{};
    per.day = row.per_days;
    insert_secret_row(kBudgets, {{kBudget, ObjectIdGetDatum(row.budget)},
                                 {kNumber, Int64GetDatum(row.number)},
                                 {kEpsilon, NumericGetDatum(row.epsilon)},
                                 {kPer, IntervalPGetDatum(&per), row.per_days == 0},
                                 {kWithin, Int64GetDatum(row.within), row.within == 0},
                                 {kRoot, Int64GetDatum(row.root)},
                                 {kSince, TimestampGetDatum(row.range.since)},
                                 {kUntil, TimestampGetDatum(row.range.until)},
                                 {kLeastEpsilon, NumericGetDatum(row.least_epsilon)},
                                 {kMostCells, Int64GetDatum(row.most_cells)},
                                 {kKeyDigest, Int64GetDatum(row.key_digest), row.per_days == 0}});
    have_number(row.number);
}

void update_budget_types(const BudgetRow& row) {
    (void)replace_in_secret_row(kBudgets, {number_key(row.number)},
                                {{kPersonType, ObjectIdGetDatum(row.person_type)},
                                 {kTimeType, ObjectIdGetDatum(row.time_type)}});
}

void update_last_entry(std::int64_t number, std::int64_t entry) {
    (void)replace_in_secret_row(kBudgets, {number_key(number)},
                                {{kLastEntry, Int64GetDatum(entry)}});
}

void drop_budget_row(const BudgetRow& row, const char* name, Oid owner, Numeric spent) {
    const auto text_column = [](DroppedColumn column, const char* text) -> SecretColumn {
        return {static_cast<int>(column), text == nullptr ? Datum{} : CStringGetTextDatum(text),
                text == nullptr};
    };
    Interval per{};
    per.day = row.per_days;
    insert_secret_row(kDroppedBudgets,
                      {{kDroppedNumber, Int64GetDatum(row.number)},
                       text_column(kDroppedName, name),
                       {kDroppedEpsilon, NumericGetDatum(row.epsilon)},
                       {kDroppedPer, IntervalPGetDatum(&per), per.day == 0},
                       {kDroppedSpent, NumericGetDatum(spent)},
                       {kDroppedWithin, Int64GetDatum(row.within), row.within == 0},
                       {kDroppedSince, TimestampGetDatum(row.range.since)},
                       {kDroppedUntil, TimestampGetDatum(row.range.until)},
                       {kDroppedOwner, ObjectIdGetDatum(owner)},
                       text_column(kDroppedOwnerName, GetUserNameFromId(owner, true)),
                       {kDroppedAt, TimestampTzGetDatum(GetCurrentTimestamp())},
                       text_column(kDroppedBy, GetUserNameFromId(GetUserId(), false))});
    delete_secret_rows(kBudgets, {number_key(row.number)});
}

List* dropped_budgets() {
    List* dropped = NIL;
    visit_secret_rows(kDroppedBudgets, {}, [&](const Datum* values, const bool* nulls) {
        auto* row = static_cast<DroppedBudgetRow*>(palloc(sizeof(DroppedBudgetRow)));
        *row = {DatumGetInt64(values[kDroppedNumber]),
                nulls[kDroppedName] ? nullptr : TextDatumGetCString(values[kDroppedName]),
                DatumGetNumericCopy(values[kDroppedSpent]),
                nulls[kDroppedWithin] ? 0 : DatumGetInt64(values[kDroppedWithin]),
                DatumGetTimestampTz(values[kDroppedAt]),
                TextDatumGetCString(values[kDroppedBy])};
        dropped = lappend(dropped, row);
    });
    list_sort(dropped, [](const ListCell* a, const ListCell* b) {
        const std::int64_t left = static_cast<const DroppedBudgetRow*>(lfirst(a))->number;
        const std::int64_t right = static_cast<const DroppedBudgetRow*>(lfirst(b))->number;
        return left < right ? -1 : 1;
    });
    return dropped;
}

void lock_budget(std::int64_t number) {
    lock_number(kBudgets, number);
}

} // namespace dp_counter::pg
