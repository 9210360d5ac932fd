#include "pg/event_store.hpp"

#include "pg/quiet_statistics.hpp"
#include "pg/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "common/int.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kReleases, kSlot, kTotal, kColumns };

/// As many transactions can commit events of one counter at the same time without a new slot.
constexpr std::int32_t kSlots = 64;

/// This backend's first choice: another one than that of the backends that started next to it.
std::int32_t own_slot() {
#if PG_VERSION_NUM >= 170000
    return MyProcNumber % kSlots;
#else
    return MyBackendId % kSlots;
#endif
}

std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t sum;
    if (pg_add_s64_overflow(a, b, &sum))
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg("too many events for one counter")));
    return sum;
}

std::int64_t total_of(HeapTuple tuple, TupleDesc description) {
    bool is_null;
    return DatumGetInt64(heap_getattr(tuple, kTotal + 1, description, &is_null));
}

/// A scan of the counter's rows, or of one slot's.
SysScanDesc begin_scan(Relation table, Oid releases, const std::int32_t* slot, Snapshot snapshot) {
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], kReleases + 1, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(releases));
    if (slot != nullptr)
        ScanKeyInit(&keys[1], kSlot + 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(*slot));
    return systable_beginscan(table, secret_relation(kEvents.index), true, snapshot,
                              slot != nullptr ? 2 : 1, keys);
}

void insert_slot(Relation table, Oid releases, std::int32_t slot, std::int64_t total) {
    Datum values[kColumns] = {ObjectIdGetDatum(releases), Int32GetDatum(slot),
                              Int64GetDatum(total)};
    bool nulls[kColumns] = {};
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogTupleInsert(table, tuple);
    heap_freetuple(tuple);
}

/// Locks the row, unless that would mean to wait for another transaction.
bool lock_row(Relation table, HeapTuple row) {
    HeapTupleData target = *row;
    Buffer buffer;
    TM_FailureData failure;
    const TM_Result result =
        heap_lock_tuple(table, &target, GetCurrentCommandId(true), LockTupleNoKeyExclusive,
                        LockWaitSkip, false, &buffer, &failure);
    ReleaseBuffer(buffer);
    return result == TM_Ok;
}

/// Adds to the first row of the scan that is free; false if none is.
bool add_to_free_row(Relation table, Oid releases, const std::int32_t* slot, std::int64_t events) {
    bool added = false;
    // SnapshotSelf: the last committed version, whatever the transaction's own snapshot is.
    SysScanDesc scan = begin_scan(table, releases, slot, SnapshotSelf);
    HeapTuple row;
    while (!added && HeapTupleIsValid(row = systable_getnext(scan))) {
        if (!lock_row(table, row))
            continue;
        TupleDesc description = RelationGetDescr(table);
        Datum values[kColumns] = {};
        bool nulls[kColumns] = {};
        bool replaces[kColumns] = {};
        values[kTotal] = Int64GetDatum(add(total_of(row, description), events));
        replaces[kTotal] = true;
        HeapTuple updated = heap_modify_tuple(row, description, values, nulls, replaces);
        CatalogTupleUpdate(table, &row->t_self, updated);
        heap_freetuple(updated);
        added = true;
    }
    systable_endscan(scan);
    return added;
}

/// Ends the scan after deleting its rows, as far as they are unwanted and no other open transaction
/// has changed them.
template <class Unwanted>
void delete_rows(Relation table, SysScanDesc scan, Unwanted unwanted) {
    HeapTuple row;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        bool is_null;
        const Datum owner = heap_getattr(row, kReleases + 1, RelationGetDescr(table), &is_null);
        if (unwanted(DatumGetObjectId(owner)) && lock_row(table, row))
            CatalogTupleDelete(table, &row->t_self);
    }
    systable_endscan(scan);
}

} // namespace

void create_event_slots(Oid releases) {
    drop_event_slots(releases);
    without_statistics([&] {
        Relation table = open_secret(kEvents);
        // A recorder that commits after its counter was dropped leaves a slot behind.
        delete_rows(table, systable_beginscan(table, InvalidOid, false, SnapshotSelf, 0, nullptr),
                    [](Oid owner) { return !SearchSysCacheExists1(RELOID, owner); });
        for (std::int32_t slot = 0; slot < kSlots; ++slot)
            insert_slot(table, releases, slot, 0);
        close_secret(table);
    });
    CommandCounterIncrement();
}

void add_events(Oid releases, std::int64_t events) {
    without_statistics([&] {
        const std::int32_t slot = own_slot();
        Relation table = open_secret(kEvents);
        if (!add_to_free_row(table, releases, &slot, events) &&
            !add_to_free_row(table, releases, nullptr, events))
            insert_slot(table, releases, slot, events);
        close_secret(table);
    });
}

std::int64_t total_events(Oid releases) {
    std::int64_t total = 0;
    without_statistics([&] {
        Relation table = open_secret(kEvents);
        SysScanDesc scan = begin_scan(table, releases, nullptr, nullptr);
        HeapTuple row;
        while (HeapTupleIsValid(row = systable_getnext(scan)))
            total = add(total, total_of(row, RelationGetDescr(table)));
        systable_endscan(scan);
        close_secret(table);
    });
    return total;
}

void drop_event_slots(Oid releases) {
    CommandCounterIncrement(); // so that rows of this very command can be deleted
    without_statistics([&] {
        Relation table = open_secret(kEvents);
        delete_rows(table, begin_scan(table, releases, nullptr, SnapshotSelf),
                    [](Oid) { return true; });
        close_secret(table);
    });
    CommandCounterIncrement();
}

} // namespace dp_counter::pg
