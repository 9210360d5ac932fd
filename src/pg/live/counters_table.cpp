#include "pg/live/counters_table.hpp"

#include "pg/live/secret_tables.hpp"
#include "pg/server/quiet_statistics.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "commands/sequence.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

enum Column {
    kReleases,
    kNumber,
    kEpsilon,
    kHorizon,
    kMechanism,
    kK,
    kSteps,
    kReleasedAt,
    kStddev,
    kPublished,
    kColumns
};

SysScanDesc begin_scan(Relation table, Oid releases) {
    ScanKeyData key;
    ScanKeyInit(&key, kReleases + 1, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(releases));
    // A null snapshot is a new one: what has been committed by now.
    return systable_beginscan(table, secret_relation(kCounters.index), true, nullptr, 1, &key);
}

/// Replaces columns of the counter's row.
void replace(Oid releases, const Datum (&values)[kColumns], const bool (&nulls)[kColumns],
             const bool (&replaces)[kColumns]) {
    Relation table = open_secret(kCounters);
    SysScanDesc scan = begin_scan(table, releases);
    HeapTuple old = systable_getnext(scan);
    if (!HeapTupleIsValid(old))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("the counter was dropped")));
    HeapTuple changed = heap_modify_tuple(old, RelationGetDescr(table), const_cast<Datum*>(values),
                                          const_cast<bool*>(nulls), const_cast<bool*>(replaces));
    CatalogTupleUpdate(table, &old->t_self, changed);
    heap_freetuple(changed);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

} // namespace

void lock_counter(Oid releases) {
    LockDatabaseObject(secret_relation(kCounters.table), releases, 0, ExclusiveLock);
}

bool is_counter(Oid releases) {
    bool found = false;
    without_statistics([&] {
        Relation table = open_secret(kCounters);
        SysScanDesc scan = begin_scan(table, releases);
        found = HeapTupleIsValid(systable_getnext(scan));
        systable_endscan(scan);
        close_secret(table);
    });
    return found;
}

bool read_counter(Oid releases, CounterRow& row) {
    bool found = false;
    Relation table = open_secret(kCounters);
    SysScanDesc scan = begin_scan(table, releases);
    HeapTuple tuple = systable_getnext(scan);
    found = HeapTupleIsValid(tuple);
    if (found) {
        Datum values[kColumns];
        bool nulls[kColumns];
        heap_deform_tuple(tuple, RelationGetDescr(table), values, nulls);
        row.number = DatumGetInt32(values[kNumber]);
        row.horizon = nulls[kHorizon] ? kUnbounded : DatumGetInt64(values[kHorizon]);
        row.steps = DatumGetInt64(values[kSteps]);
        row.published = DatumGetInt64(values[kPublished]);
        row.released_at = nulls[kReleasedAt] ? 0 : DatumGetTimestampTz(values[kReleasedAt]);
        row.stddev = nulls[kStddev] ? 0 : DatumGetFloat8(values[kStddev]);
    }
    systable_endscan(scan);
    close_secret(table);
    return found;
}

std::int32_t next_counter_number() {
    return static_cast<std::int32_t>(
        nextval_internal(secret_relation("counters_number_seq"), false));
}

void insert_counter(Oid releases, std::int32_t number, Numeric epsilon, const Request& request,
                    const MechanismSpec& spec) {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    values[kReleases] = ObjectIdGetDatum(releases);
    values[kNumber] = Int32GetDatum(number);
    values[kEpsilon] = NumericGetDatum(epsilon);
    values[kHorizon] = Int64GetDatum(request.horizon);
    nulls[kHorizon] = request.horizon == kUnbounded;
    values[kMechanism] = CStringGetTextDatum(mechanism_name(spec.mechanism));
    values[kK] = Int32GetDatum(spec.radix);
    nulls[kK] = spec.radix == 0; // a bridge or hats with chosen radices
    values[kSteps] = Int64GetDatum(0);
    values[kPublished] = Int64GetDatum(0);
    nulls[kReleasedAt] = nulls[kStddev] = true;
    Relation table = open_secret(kCounters);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
    close_secret(table);
    CommandCounterIncrement();
}

void update_counter(Oid releases, const MechanismSpec& spec, const CounterRow& row) {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    bool replaces[kColumns] = {};
    const auto set = [&](Column column, Datum value) {
        values[column] = value;
        replaces[column] = true;
    };
    set(kMechanism, CStringGetTextDatum(mechanism_name(spec.mechanism)));
    set(kK, Int32GetDatum(spec.radix));
    nulls[kK] = spec.radix == 0;
    set(kSteps, Int64GetDatum(row.steps));
    set(kReleasedAt, TimestampTzGetDatum(row.released_at));
    set(kStddev, Float8GetDatum(row.stddev));
    replace(releases, values, nulls, replaces);
}

void mark_published(Oid releases, std::int64_t steps) {
    Datum values[kColumns] = {};
    const bool nulls[kColumns] = {};
    bool replaces[kColumns] = {};
    values[kPublished] = Int64GetDatum(steps);
    replaces[kPublished] = true;
    replace(releases, values, nulls, replaces);
}

std::int32_t delete_counter(Oid releases) {
    std::int32_t number = 0;
    Relation table = open_secret(kCounters);
    SysScanDesc scan = begin_scan(table, releases);
    HeapTuple row = systable_getnext(scan);
    if (HeapTupleIsValid(row)) {
        bool is_null = false;
        number = DatumGetInt32(heap_getattr(row, kNumber + 1, RelationGetDescr(table), &is_null));
        CatalogTupleDelete(table, &row->t_self);
    }
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
    return number;
}

} // namespace dp_counter::pg
