#include <algorithm>

#include <sodium.h>

#include "pg/server/relations.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/extension.h"
#include "nodes/execnodes.h"
#include "storage/lock.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
}

namespace dp_counter::pg {

Oid secret_relation(const char* name) {
    const Oid schema = get_namespace_oid("dp_counter_private", true);
    const Oid relation = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
    if (!OidIsValid(relation))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("table dp_counter_private.%s does not exist", name),
                        OidIsValid(get_extension_oid("dp_counter", true))
                            ? errhint("It was renamed, or its schema: rename it back.")
                            : errhint("CREATE EXTENSION dp_counter creates it.")));
    if (!superuser_arg(owner_of(relation)))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("table dp_counter_private.%s must be owned by a superuser", name),
                        errdetail("Another role could change its columns.")));
    return relation;
}

void raise_damaged(const char* what) {
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("%s", what),
                    errhint("Restore the extension's tables from a backup, or drop the counter.")));
}

void raise_dropped() {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("the counter was dropped")));
}

Relation open_secret(const SecretTable& table, LOCKMODE lock) {
    Relation relation = table_open(secret_relation(table.table), lock);
    if (RelationGetNumberOfAttributes(relation) != table.columns)
        ereport(ERROR,
                (errcode(ERRCODE_DATA_CORRUPTED),
                 errmsg("table dp_counter_private.%s has columns that were added", table.table),
                 errhint("Create the extension anew, without event triggers that add columns.")));
    return relation;
}

void close_secret(Relation relation, LOCKMODE lock) {
    table_close(relation, lock == AccessShareLock ? lock : NoLock);
}

SecretKey oid_key(Oid value, int column) {
    return {column, F_OIDEQ, ObjectIdGetDatum(value)};
}

SecretKey number_key(std::int64_t value, int column) {
    return {column, F_INT8EQ, Int64GetDatum(value)};
}

SecretKey small_key(std::int32_t value, int column) {
    return {column, F_INT4EQ, Int32GetDatum(value)};
}

List* lappend_number(List* numbers, std::int64_t number) {
    auto* kept = static_cast<std::int64_t*>(palloc(sizeof(std::int64_t)));
    *kept = number;
    return lappend(numbers, kept);
}

std::int64_t number_at(const ListCell* cell) {
    return *static_cast<const std::int64_t*>(lfirst(cell));
}

void sort_numbers(List* numbers) {
    list_sort(numbers, [](const ListCell* a, const ListCell* b) {
        return number_at(a) < number_at(b) ? -1 : (number_at(a) > number_at(b) ? 1 : 0);
    });
}

namespace {

LOCKTAG tag_of(const SecretTable& table, std::int64_t number) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, secret_relation(table.table), static_cast<Oid>(number),
                       static_cast<std::uint16_t>(number >> 32));
    return tag;
}

} // namespace

void lock_number(const SecretTable& table, std::int64_t number) {
    const LOCKTAG tag = tag_of(table, number);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    AcceptInvalidationMessages(); // as LockDatabaseObject does
}

bool try_lock_number(const SecretTable& table, std::int64_t number) {
    const LOCKTAG tag = tag_of(table, number);
    const bool is_free = LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
    AcceptInvalidationMessages();
    return is_free;
}

void unlock_number(const SecretTable& table, std::int64_t number) {
    const LOCKTAG tag = tag_of(table, number);
    (void)LockRelease(&tag, ExclusiveLock, false);
}

namespace {

/// Returns their number.
int fill_scan_keys(SecretKeys keys, ScanKeyData* scan_keys) {
    Assert(keys.size() <= kMostSecretKeys);
    int count = 0;
    for (const SecretKey& key : keys)
        ScanKeyInit(&scan_keys[count++], static_cast<AttrNumber>(key.column + 1),
                    BTEqualStrategyNumber, key.equal, key.value);
    return count;
}

} // namespace

SysScanDesc begin_secret_scan(Relation table, const SecretTable& names, SecretKeys keys,
                              Snapshot snapshot) {
    ScanKeyData scan_keys[kMostSecretKeys];
    const int count = fill_scan_keys(keys, scan_keys);
    const bool has_index = names.index != nullptr;
    return systable_beginscan(table, has_index ? secret_relation(names.index) : InvalidOid,
                              has_index, snapshot, count, scan_keys);
}

bool has_secret_row(const SecretTable& names, SecretKeys keys, Snapshot snapshot) {
    return visit_secret_rows(
        names, keys, [](const Datum*, const bool*) {}, snapshot);
}

namespace {

/// The row with its columns replaced. heap_modify_tuple would leave a copy of the values.
HeapTuple replaced(HeapTuple old, TupleDesc type, SecretColumns columns) {
    Datum values[kMostSecretColumns];
    bool nulls[kMostSecretColumns];
    heap_deform_tuple(old, type, values, nulls);
    for (const SecretColumn& column : columns) {
        values[column.column] = column.value;
        nulls[column.column] = column.is_null;
    }
    HeapTuple row = heap_form_tuple(type, values, nulls);
    row->t_data->t_ctid = old->t_data->t_ctid;
    row->t_self = old->t_self;
    row->t_tableOid = old->t_tableOid;
    sodium_memzero(values, sizeof(values));
    return row;
}

void wipe(HeapTuple row) {
    sodium_memzero(row->t_data, row->t_len);
    heap_freetuple(row);
}

} // namespace

CatalogIndexState open_indexes(Relation table) {
    CatalogIndexState indexes = CatalogOpenIndexes(table);
    for (int i = 0; i < indexes->ri_NumIndices; ++i) {
        const IndexInfo* info = indexes->ri_IndexRelationInfo[i];
        Relation index = indexes->ri_IndexRelationDescs[i];
        if (info->ii_Expressions != NIL || info->ii_Predicate != NIL ||
            info->ii_ExclusionOps != nullptr || !index->rd_index->indimmediate)
            ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                            errmsg("index \"%s\" on table dp_counter_private.%s is not supported",
                                   RelationGetRelationName(index), RelationGetRelationName(table)),
                            errdetail("It has an expression or a condition, or is of a constraint "
                                      "that excludes or is deferrable."),
                            errhint("Drop it. An index of plain columns can stay.")));
    }
    return indexes;
}

NewSecretRows begin_secret_rows(const SecretTable& names) {
    Relation table = open_secret(names);
    return {table, open_indexes(table)};
}

void add_secret_row(const NewSecretRows& rows, SecretColumns columns) {
    Datum values[kMostSecretColumns] = {};
    bool nulls[kMostSecretColumns];
    std::fill_n(nulls, kMostSecretColumns, true);
    for (const SecretColumn& column : columns) {
        values[column.column] = column.value;
        nulls[column.column] = column.is_null;
    }
    HeapTuple row = heap_form_tuple(RelationGetDescr(rows.table), values, nulls);
    CatalogTupleInsertWithInfo(rows.table, row, rows.indexes);
    wipe(row);
}

void end_secret_rows(const NewSecretRows& rows) {
    CatalogCloseIndexes(rows.indexes);
    close_secret(rows.table);
    CommandCounterIncrement();
}

void insert_secret_row(const SecretTable& names, SecretColumns columns) {
    const NewSecretRows rows = begin_secret_rows(names);
    add_secret_row(rows, columns);
    end_secret_rows(rows);
}

bool replace_in_secret_row(const SecretTable& names, SecretKeys keys, SecretColumns columns) {
    Relation table = open_secret(names);
    CatalogIndexState indexes = open_indexes(table);
    SysScanDesc scan = begin_secret_scan(table, names, keys);
    bool found = false;
    HeapTuple old = nullptr;
    while (HeapTupleIsValid(old = systable_getnext(scan))) {
        CHECK_FOR_INTERRUPTS();
        HeapTuple row = replaced(old, RelationGetDescr(table), columns);
        CatalogTupleUpdateWithInfo(table, &old->t_self, row, indexes);
        wipe(row);
        found = true;
    }
    systable_endscan(scan);
    CatalogCloseIndexes(indexes);
    close_secret(table);
    CommandCounterIncrement();
    return found;
}

SecretRowsInOrder begin_rows_in_order(const SecretTable& names, SecretKeys keys) {
    ScanKeyData scan_keys[kMostSecretKeys];
    const int count = fill_scan_keys(keys, scan_keys);
    Relation table = open_secret(names);
    Relation index = index_open(secret_relation(names.index), AccessShareLock);
    return {table,
            index,
            systable_beginscan_ordered(table, index, nullptr, count, scan_keys),
            open_indexes(table),
            nullptr,
            CurrentMemoryContext};
}

bool next_row_in_order(SecretRowsInOrder& rows, Datum* values, bool* nulls) {
    MemoryContext caller = MemoryContextSwitchTo(rows.context);
    rows.row = systable_getnext_ordered(rows.scan, ForwardScanDirection);
    MemoryContextSwitchTo(caller);
    if (!HeapTupleIsValid(rows.row))
        return false;
    heap_deform_tuple(rows.row, RelationGetDescr(rows.table), values, nulls);
    return true;
}

void replace_row_in_order(const SecretRowsInOrder& rows, SecretColumns columns) {
    HeapTuple row = replaced(rows.row, RelationGetDescr(rows.table), columns);
    CatalogTupleUpdateWithInfo(rows.table, &rows.row->t_self, row, rows.indexes);
    wipe(row);
}

void end_rows_in_order(const SecretRowsInOrder& rows) {
    CatalogCloseIndexes(rows.indexes);
    systable_endscan_ordered(rows.scan);
    index_close(rows.index, AccessShareLock);
    close_secret(rows.table);
    CommandCounterIncrement();
}

bool delete_secret_rows(const SecretTable& names, SecretKeys keys) {
    bool found = false;
    Relation table = open_secret(names);
    SysScanDesc scan = begin_secret_scan(table, names, keys);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        CHECK_FOR_INTERRUPTS();
        CatalogTupleDelete(table, &row->t_self);
        found = true;
    }
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
    return found;
}

} // namespace dp_counter::pg
