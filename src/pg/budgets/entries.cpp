#include "pg/budgets/entries.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/given_back.hpp"
#include "pg/server/session_role.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

namespace {

enum Column {
    kEntry,
    kBudget,
    kNumber,
    kPurpose,
    kSpent,
    kSince,
    kUntil,
    kBeginsFrom,
    kBeginsBefore,
    kRole,
    kSessionRole,
    kSpentAt,
    kClosed,
    kCutAt,
    kCutBy,
    kCutFrom,
    kRefundedAt,
    kRefundedBy
};

EntryRange range_of(const Datum* values) {
    return {DatumGetTimestamp(values[kSince]), DatumGetTimestamp(values[kUntil])};
}

/// Whether it counts nowhere any more.
bool is_refunded(const bool* nulls) {
    return !nulls[kRefundedAt];
}

SecretColumn now_in(int column) {
    return {column, TimestampTzGetDatum(GetCurrentTimestamp())};
}

SecretColumn role_in(int column, Oid role) {
    return {column, CStringGetTextDatum(GetUserNameFromId(role, false))};
}

SecretColumn current_user_in(int column) {
    return role_in(column, GetUserId());
}

BudgetEntry* entry_of(const Datum* values) {
    auto* entry = static_cast<BudgetEntry*>(palloc(sizeof(BudgetEntry)));
    *entry = {range_of(values),
              {DatumGetTimestamp(values[kBeginsFrom]), DatumGetTimestamp(values[kBeginsBefore])},
              DatumGetNumericCopy(values[kSpent])};
    return entry;
}

} // namespace

List* entries_of(std::int64_t budget) {
    List* entries = NIL;
    visit_secret_rows(kEntries, {number_key(budget, kBudget)},
                      [&](const Datum* values, const bool* nulls) {
                          if (!is_refunded(nulls))
                              entries = lappend(entries, entry_of(values));
                      });
    return entries;
}

List* entries_numbered(std::int64_t number) {
    List* entries = NIL;
    visit_secret_rows(kEntriesOfCounter, {number_key(number, kNumber)},
                      [&](const Datum* values, const bool*) {
                          if (!DatumGetBool(values[kClosed]))
                              entries = lappend(entries, entry_of(values));
                      });
    return entries;
}

NumberedEntry entry_numbered(std::int64_t number) {
    NumberedEntry entry{};
    visit_secret_rows(kEntriesOfCounter, {number_key(number, kNumber)},
                      [&](const Datum* values, const bool*) {
                          if (!DatumGetBool(values[kClosed]))
                              entry = {DatumGetInt64(values[kBudget]), range_of(values)};
                      });
    return entry;
}

bool has_entries(std::int64_t budget) {
    return entries_of(budget) != NIL;
}

List* numbers_of_entries(std::int64_t budget) {
    List* numbers = NIL;
    visit_secret_rows(kEntries, {number_key(budget, kBudget)},
                      [&](const Datum* values, const bool* nulls) {
                          if (!nulls[kNumber])
                              numbers = lappend_number(numbers, DatumGetInt64(values[kNumber]));
                      });
    return numbers;
}

bool has_entry(std::int64_t entry) {
    return has_secret_row(kEntriesByEntry, {number_key(entry)});
}

std::int64_t insert_entry(std::int64_t budget, std::int64_t number, const char* purpose,
                          const BudgetEntry& entry) {
    const std::int64_t own = next_number();
    insert_secret_row(kEntries, {{kEntry, Int64GetDatum(own)},
                                 {kBudget, Int64GetDatum(budget)},
                                 {kNumber, Int64GetDatum(number), number == kNoCounter},
                                 {kPurpose, CStringGetTextDatum(purpose)},
                                 {kSpent, NumericGetDatum(entry.epsilon)},
                                 {kSince, TimestampGetDatum(entry.range.since)},
                                 {kUntil, TimestampGetDatum(entry.range.until)},
                                 {kBeginsFrom, TimestampGetDatum(entry.begins.since)},
                                 {kBeginsBefore, TimestampGetDatum(entry.begins.until)},
                                 current_user_in(kRole),
                                 role_in(kSessionRole, session_role()),
                                 now_in(kSpentAt),
                                 {kClosed, BoolGetDatum(false)}});
    have_number(own);
    return own;
}

void end_entries(std::int64_t number, Timestamp until) {
    SecretRowsInOrder rows = begin_rows_in_order(kEntriesOfCounter, {number_key(number, kNumber)});
    Datum values[kMostSecretColumns];
    bool nulls[kMostSecretColumns];
    while (next_row_in_order(rows, values, nulls)) {
        if (until >= DatumGetTimestamp(values[kUntil]))
            continue;
        note_given_back();
        replace_row_in_order(rows, {{kUntil, TimestampGetDatum(until)},
                                    now_in(kCutAt),
                                    current_user_in(kCutBy),
                                    {kCutFrom, values[nulls[kCutFrom] ? kUntil : kCutFrom]}});
    }
    end_rows_in_order(rows);
}

void close_entries(std::int64_t number, const char* purpose) {
    (void)replace_in_secret_row(
        kEntriesOfCounter, {number_key(number, kNumber)},
        {{kClosed, BoolGetDatum(true)}, {kPurpose, CStringGetTextDatum(purpose)}});
}

void refund_entries(std::int64_t number) {
    note_given_back();
    (void)replace_in_secret_row(kEntriesOfCounter, {number_key(number, kNumber)},
                                {now_in(kRefundedAt), current_user_in(kRefundedBy)});
}

void close_entries_of_budget(std::int64_t budget) {
    (void)replace_in_secret_row(kEntries, {number_key(budget, kBudget)},
                                {{kClosed, BoolGetDatum(true)}});
}

void move_entries(std::int64_t from_budget, std::int64_t to_budget) {
    (void)replace_in_secret_row(kEntries, {number_key(from_budget, kBudget)},
                                {{kBudget, Int64GetDatum(to_budget)}});
}

} // namespace dp_counter::pg
