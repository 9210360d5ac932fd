// The extension's own tables, where counters live.
//
// These functions read and write them directly, by the access methods, not by SQL: privileges, the
// search path, rules and triggers play no part, and the code never switches to a role with more
// rights. By SQL only the extension's owner can access them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/indexing.h"
#include "utils/rel.h"
#include "utils/snapshot.h"
}

namespace dp_counter::pg {

struct SecretTable {
    const char* table;
    int columns;
    const char* index; ///< by which its rows are found; null: there is none
};

/// The same table, by another index.
constexpr SecretTable by(const SecretTable& table, const char* index) {
    return {table.table, table.columns, index};
}

inline constexpr SecretTable kCounters{"counters", 18, "counters_pkey"};
inline constexpr SecretTable kCountersByFace = by(kCounters, "counters_counter_idx");
inline constexpr SecretTable kEvents{"events", 6, "events_number_slot_idx"};
inline constexpr SecretTable kStreams{"streams", 7, "streams_pkey"};
inline constexpr SecretTable kReleasesTable{"releases", 13, "releases_pkey"};
inline constexpr SecretTable kPublications{"publications", 2, "publications_pkey"};
inline constexpr SecretTable kSources{"sources", 8, "sources_source_idx"};
inline constexpr SecretTable kSourcesOfBudget = by(kSources, nullptr);
inline constexpr SecretTable kSourceHistory{"source_history", 12, "source_history_budget_idx"};
inline constexpr SecretTable kContributions{"contributions", 7,
                                            "contributions_source_event_bound_idx"};
inline constexpr SecretTable kSourceCounters{"source_counters", 26, "source_counters_pkey"};
inline constexpr SecretTable kCountersOfSource = by(kSourceCounters, nullptr);
inline constexpr SecretTable kGroupNames{"groups", 4, "groups_pkey"};
inline constexpr SecretTable kTallies{"tallies", 5, "tallies_number_digest_idx"};
inline constexpr SecretTable kBudgets{"budgets", 14, "budgets_pkey"};
inline constexpr SecretTable kBudgetsByFace = by(kBudgets, "budgets_budget_idx");
inline constexpr SecretTable kBudgetsWithin = by(kBudgets, nullptr);
inline constexpr SecretTable kDroppedBudgets{"dropped_budgets", 12, "dropped_budgets_pkey"};
inline constexpr SecretTable kWindowKey{"window_key", 2, nullptr};
inline constexpr SecretTable kEntries{"budget_entries", 18, "budget_entries_budget_idx"};
inline constexpr SecretTable kEntriesByEntry = by(kEntries, "budget_entries_pkey");
inline constexpr SecretTable kEntriesOfCounter = by(kEntries, "budget_entries_number_idx");

/// No secret table has more columns.
inline constexpr int kMostSecretColumns = kSourceCounters.columns;

/// The OID of a secret table, or of its index. Raises undefined_table if the extension is not
/// installed, and insufficient_privilege if no superuser owns what has the name.
[[nodiscard]] Oid secret_relation(const char* name);

/// Raises data_corrupted: a counter's rows are inconsistent.
[[noreturn]] void raise_damaged(const char* what);

/// Raises undefined_object: another transaction dropped the counter meanwhile.
[[noreturn]] void raise_dropped();

/// Opens the table, by default to write to it. Close with close_secret: that releases the lock of
/// who only reads at once, since pg_locks shows it to everyone. Who writes holds it to the end of
/// the transaction: REINDEX CONCURRENTLY waits for it, and would miss the row otherwise. Raises
/// data_corrupted if it has other columns than by right.
[[nodiscard]] Relation open_secret(const SecretTable& table, LOCKMODE lock = RowExclusiveLock);
void close_secret(Relation relation, LOCKMODE lock = RowExclusiveLock);

/// A column, from 0, has a value. The keys of a scan are the first columns of its index.
struct SecretKey {
    int column;
    RegProcedure equal;
    Datum value;
};
using SecretKeys = std::initializer_list<SecretKey>;

/// No scan has more keys.
inline constexpr std::size_t kMostSecretKeys = 3;

[[nodiscard]] SecretKey oid_key(Oid value, int column = 0);
[[nodiscard]] SecretKey number_key(std::int64_t value, int column = 0);
[[nodiscard]] SecretKey small_key(std::int32_t value, int column);

/// Numbers of counters and budgets in a List, which has none of 64 bits: in CurrentMemoryContext.
[[nodiscard]] List* lappend_number(List* numbers, std::int64_t number);
[[nodiscard]] std::int64_t number_at(const ListCell* cell);
void sort_numbers(List* numbers);

/// Locks what has this number in the table, to the end of the transaction. Reads after it see the
/// last committed rows. Numbers are below 2^48.
void lock_number(const SecretTable& table, std::int64_t number);
/// The same, if nobody has to be waited for; else false.
[[nodiscard]] bool try_lock_number(const SecretTable& table, std::int64_t number);
/// Before the end of the transaction.
void unlock_number(const SecretTable& table, std::int64_t number);

/// A scan of the rows that have these keys. Without a snapshot: as they were last committed, or
/// changed by this transaction.
[[nodiscard]] SysScanDesc begin_secret_scan(Relation table, const SecretTable& names,
                                            SecretKeys keys, Snapshot snapshot = nullptr);

/// Calls visit(values, nulls) for each row that has these keys; says whether there was any.
template <class Visit>
bool visit_secret_rows(const SecretTable& names, SecretKeys keys, Visit visit,
                       Snapshot snapshot = nullptr) {
    bool found = false;
    Relation table = open_secret(names, AccessShareLock);
    SysScanDesc scan = begin_secret_scan(table, names, keys, snapshot);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        CHECK_FOR_INTERRUPTS();
        Datum values[kMostSecretColumns];
        bool nulls[kMostSecretColumns];
        heap_deform_tuple(row, RelationGetDescr(table), values, nulls);
        visit(values, nulls);
        found = true;
    }
    systable_endscan(scan);
    close_secret(table, AccessShareLock);
    return found;
}

[[nodiscard]] bool has_secret_row(const SecretTable& names, SecretKeys keys,
                                  Snapshot snapshot = nullptr);

/// The new value of a column.
struct SecretColumn {
    int column;
    Datum value;
    bool is_null = false;
};
using SecretColumns = std::initializer_list<SecretColumn>;

/// Stores a row, whose other columns are NULL.
void insert_secret_row(const SecretTable& names, SecretColumns columns);

/// The indexes of one of the extension's tables, for CatalogTupleInsertWithInfo and its like, which
/// evaluate nothing: raises object_not_in_prerequisite_state where a DBA has made one with an
/// expression or a condition.
[[nodiscard]] CatalogIndexState open_indexes(Relation table);

/// The same for many rows of one table. Trivial.
struct NewSecretRows {
    Relation table;
    CatalogIndexState indexes;
};
[[nodiscard]] NewSecretRows begin_secret_rows(const SecretTable& names);
void add_secret_row(const NewSecretRows& rows, SecretColumns columns);
void end_secret_rows(const NewSecretRows& rows);

/// Replaces columns of each row that has these keys, and wipes the copies that were stored; false
/// if there is none.
[[nodiscard]] bool replace_in_secret_row(const SecretTable& names, SecretKeys keys,
                                         SecretColumns columns);

/// Replaces columns of many rows, one after the other, in the order of the index. Trivial.
struct SecretRowsInOrder {
    Relation table;
    Relation index;
    SysScanDesc scan;
    CatalogIndexState indexes;
    HeapTuple row;         ///< that came last
    MemoryContext context; ///< in which the scan began, and goes on
};
[[nodiscard]] SecretRowsInOrder begin_rows_in_order(const SecretTable& names, SecretKeys keys);
/// Reads the next row; false if there is none.
[[nodiscard]] bool next_row_in_order(SecretRowsInOrder& rows, Datum* values, bool* nulls);
/// Replaces columns of the row that came last, and wipes the copy that was stored.
void replace_row_in_order(const SecretRowsInOrder& rows, SecretColumns columns);
void end_rows_in_order(const SecretRowsInOrder& rows);

/// Deletes all rows that have these keys; says whether there was any.
bool delete_secret_rows(const SecretTable& names, SecretKeys keys);

} // namespace dp_counter::pg
