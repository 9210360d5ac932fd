#include "pg/live/source_counters_table.hpp"

#include "pg/live/secret_tables.hpp"
#include "pg/server/quiet_statistics.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum Column {
    kReleases,
    kSource,
    kEvent,
    kValue,
    kUpper,
    kPerPerson,
    kBy,
    kGroups,
    kEvery,
    kSince,
    kGrace,
    kEnded,
    kKey,
    kColumns
};

SysScanDesc begin_scan(Relation table, Oid releases) {
    ScanKeyData key;
    ScanKeyInit(&key, kReleases + 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(releases));
    return systable_beginscan(table, secret_relation(kSourceCounters.index), true, nullptr, 1,
                              &key);
}

template <class Value>
Value copy_of(Datum datum) {
    return reinterpret_cast<Value>(PG_DETOAST_DATUM_COPY(datum));
}

} // namespace

bool read_source_counter(Oid releases, SourceCounterRow& row) {
    Relation table = open_secret(kSourceCounters);
    SysScanDesc scan = begin_scan(table, releases);
    HeapTuple tuple = systable_getnext(scan);
    const bool found = HeapTupleIsValid(tuple);
    if (found) {
        Datum values[kColumns];
        bool nulls[kColumns];
        heap_deform_tuple(tuple, RelationGetDescr(table), values, nulls);
        const auto column = [&](Column number) -> AttrNumber {
            return static_cast<AttrNumber>(nulls[number] ? 0 : DatumGetInt16(values[number]));
        };
        row.source = DatumGetObjectId(values[kSource]);
        row.event = column(kEvent);
        row.value = column(kValue);
        row.upper = DatumGetInt64(values[kUpper]);
        row.per_person = DatumGetInt64(values[kPerPerson]);
        row.by = column(kBy);
        row.groups = nulls[kGroups] ? nullptr : copy_of<ArrayType*>(values[kGroups]);
        row.every = *DatumGetIntervalP(values[kEvery]);
        row.since = DatumGetTimestamp(values[kSince]);
        row.grace = *DatumGetIntervalP(values[kGrace]);
        row.ended = nulls[kEnded] ? 0 : DatumGetTimestampTz(values[kEnded]);
        row.key = copy_of<bytea*>(values[kKey]);
    }
    systable_endscan(scan);
    close_secret(table);
    return found;
}

bool has_source(Oid releases) {
    bool found = false;
    without_statistics([&] {
        Relation table = open_secret(kSourceCounters);
        SysScanDesc scan = begin_scan(table, releases);
        found = HeapTupleIsValid(systable_getnext(scan));
        systable_endscan(scan);
        close_secret(table);
    });
    return found;
}

void insert_source_counter(Oid releases, const SourceCounterRow& row) {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    const auto set_column = [&](Column number, AttrNumber column) {
        values[number] = Int16GetDatum(column);
        nulls[number] = column == InvalidAttrNumber;
    };
    values[kReleases] = ObjectIdGetDatum(releases);
    values[kSource] = ObjectIdGetDatum(row.source);
    set_column(kEvent, row.event);
    set_column(kValue, row.value);
    values[kUpper] = Int64GetDatum(row.upper);
    values[kPerPerson] = Int64GetDatum(row.per_person);
    set_column(kBy, row.by);
    values[kGroups] = PointerGetDatum(row.groups);
    nulls[kGroups] = row.groups == nullptr;
    values[kEvery] = IntervalPGetDatum(&row.every);
    values[kSince] = TimestampGetDatum(row.since);
    values[kGrace] = IntervalPGetDatum(&row.grace);
    nulls[kEnded] = true;
    values[kKey] = PointerGetDatum(row.key);
    Relation table = open_secret(kSourceCounters);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
    close_secret(table);
    CommandCounterIncrement();
}

void mark_ended(Oid releases, TimestampTz ended) {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    bool replaces[kColumns] = {};
    values[kEnded] = TimestampTzGetDatum(ended);
    replaces[kEnded] = true;
    Relation table = open_secret(kSourceCounters);
    SysScanDesc scan = begin_scan(table, releases);
    HeapTuple old = systable_getnext(scan);
    if (!HeapTupleIsValid(old))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("the counter was dropped")));
    HeapTuple changed = heap_modify_tuple(old, RelationGetDescr(table), values, nulls, replaces);
    CatalogTupleUpdate(table, &old->t_self, changed);
    heap_freetuple(changed);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

bool delete_source_counter(Oid releases) {
    Relation table = open_secret(kSourceCounters);
    SysScanDesc scan = begin_scan(table, releases);
    HeapTuple row = systable_getnext(scan);
    const bool found = HeapTupleIsValid(row);
    if (found)
        CatalogTupleDelete(table, &row->t_self);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
    return found;
}

Oid* counters_of_source(Oid source, int& count) {
    int room = 16;
    auto* counters = static_cast<Oid*>(palloc(static_cast<Size>(room) * sizeof(Oid)));
    count = 0;
    Relation table = open_secret(kSourceCounters);
    ScanKeyData key;
    ScanKeyInit(&key, kSource + 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(source));
    SysScanDesc scan = systable_beginscan(table, InvalidOid, false, nullptr, 1, &key);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        if (count == room) {
            room *= 2;
            counters = static_cast<Oid*>(repalloc(counters, static_cast<Size>(room) * sizeof(Oid)));
        }
        bool is_null = false;
        counters[count++] =
            DatumGetObjectId(heap_getattr(row, kReleases + 1, RelationGetDescr(table), &is_null));
    }
    systable_endscan(scan);
    close_secret(table);
    return counters;
}

} // namespace dp_counter::pg
