#include <cstring>

#include <sodium.h>

#include "pg/live/counters_table.hpp"

#include "pg/live/secret_tables.hpp"
#include "pg/server/quiet_statistics.hpp"
#include "pg/server/secret_memory.hpp"

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
    kCount,
    kStddev,
    kLow,
    kHigh,
    kPublished,
    kState,
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
    sodium_memzero(changed->t_data, changed->t_len);
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
        const auto integer = [&](Column column) {
            return nulls[column] ? 0 : DatumGetInt64(values[column]);
        };
        row.number = DatumGetInt32(values[kNumber]);
        row.steps = integer(kSteps);
        row.released_at = nulls[kReleasedAt] ? 0 : DatumGetTimestampTz(values[kReleasedAt]);
        row.count = integer(kCount);
        row.stddev = nulls[kStddev] ? 0 : DatumGetFloat8(values[kStddev]);
        row.low = integer(kLow);
        row.high = integer(kHigh);
        row.published = DatumGetBool(values[kPublished]);
        struct varlena* plain = PG_DETOAST_DATUM_COPY(values[kState]);
        row.state =
            static_cast<struct varlena*>(allocate_secret(CurTransactionContext, VARSIZE(plain)));
        std::memcpy(row.state, plain, VARSIZE(plain));
        sodium_memzero(plain, VARSIZE(plain));
        pfree(plain);
    }
    systable_endscan(scan);
    close_secret(table);
    return found;
}

std::int32_t next_counter_number() {
    return static_cast<std::int32_t>(
        nextval_internal(secret_relation("counters_number_seq"), false));
}

void insert_counter(Oid releases, std::int32_t number, const Request& request,
                    const MechanismSpec& spec, struct varlena* state) {
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    values[kReleases] = ObjectIdGetDatum(releases);
    values[kNumber] = Int32GetDatum(number);
    values[kEpsilon] = Float8GetDatum(request.unit.epsilon.value());
    values[kHorizon] = Int64GetDatum(request.horizon);
    nulls[kHorizon] = request.horizon == kUnbounded;
    values[kMechanism] = CStringGetTextDatum(mechanism_name(spec.mechanism));
    values[kK] = Int32GetDatum(spec.radix);
    nulls[kK] = spec.radix == 0; // a bridge or hats with chosen radices
    values[kSteps] = Int64GetDatum(0);
    values[kPublished] = BoolGetDatum(true);
    for (const Column column : {kReleasedAt, kCount, kStddev, kLow, kHigh})
        nulls[column] = true;
    values[kState] = PointerGetDatum(state);
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
    set(kCount, Int64GetDatum(row.count));
    set(kStddev, Float8GetDatum(row.stddev));
    set(kLow, Int64GetDatum(row.low));
    set(kHigh, Int64GetDatum(row.high));
    set(kPublished, BoolGetDatum(row.published));
    set(kState, PointerGetDatum(row.state));
    replace(releases, values, nulls, replaces);
}

void mark_published(Oid releases) {
    Datum values[kColumns] = {};
    const bool nulls[kColumns] = {};
    bool replaces[kColumns] = {};
    values[kPublished] = BoolGetDatum(true);
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
