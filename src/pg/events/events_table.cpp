#include <algorithm>

#include <sodium.h>

#include "pg/events/events_table.hpp"

#include "pg/server/quiet_statistics.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kNumber, kSlot, kHead, kTotal, kCarries, kTail, kColumns };

/// So many transactions can record events of one counter at the same time without a new slot.
constexpr std::int32_t kSlots = 64;

/// The slot that this backend tries first. Backends with adjacent numbers have different ones,
/// mostly on different pages.
std::int32_t own_slot() {
    constexpr std::int32_t kStride = 19;
#if PG_VERSION_NUM >= 170000
    return MyProcNumber * kStride % kSlots;
#else
    return MyBackendId * kStride % kSlots;
#endif
}

/// What each recording changes: the total, in two columns of fixed width, between two marks that it
/// flips. The WAL record of an update contains the bytes from the first that differs to the last,
/// so it has the same length, whatever is added.
struct Total {
    bool mark;
    uint128 events;

    static constexpr int kCarry = 63; ///< total + carries * 2^63

    // Not inlined: under a longjmp its values would have to be volatile, GCC says.
    static pg_noinline Total of(HeapTuple tuple, TupleDesc description) {
        bool is_null = false;
        const auto column = [&](Column column) {
            return heap_getattr(tuple, column + 1, description, &is_null);
        };
        const auto low = static_cast<uint128>(DatumGetInt64(column(kTotal)));
        const auto high = static_cast<uint128>(DatumGetInt64(column(kCarries)));
        return {DatumGetBool(column(kHead)), (high << kCarry) + low};
    }

    void put(Datum (&values)[kColumns]) const {
        constexpr uint128 kLow = (uint128{1} << kCarry) - 1;
        values[kHead] = BoolGetDatum(mark);
        values[kTotal] = Int64GetDatum(static_cast<std::int64_t>(events & kLow));
        values[kCarries] = Int64GetDatum(static_cast<std::int64_t>(events >> kCarry));
        values[kTail] = BoolGetDatum(mark);
    }
};

/// A scan of the counter's rows, or of one slot's.
SysScanDesc begin_scan(Relation table, std::int64_t number, const std::int32_t* slot,
                       Snapshot snapshot) {
    const SecretKey key = number_key(number);
    return slot == nullptr
               ? begin_secret_scan(table, kEvents, {key}, snapshot)
               : begin_secret_scan(table, kEvents, {key, small_key(*slot, kSlot)}, snapshot);
}

void insert_slot(Relation table, std::int64_t number, std::int32_t slot, std::int32_t events) {
    Datum values[kColumns] = {Int64GetDatum(number), Int32GetDatum(slot)};
    bool nulls[kColumns] = {};
    Total{false, static_cast<uint128>(events)}.put(values);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    CatalogIndexState indexes = open_indexes(table);
    CatalogTupleInsertWithInfo(table, tuple, indexes);
    CatalogCloseIndexes(indexes);
    sodium_memzero(tuple->t_data, tuple->t_len);
    heap_freetuple(tuple);
}

/// Inserts the index entries of a slot's new version; needed if that is on another page. There are
/// two indexes while REINDEX CONCURRENTLY makes one.
void insert_index_entries(Relation table, HeapTuple tuple) {
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    CatalogIndexState indexes = open_indexes(table);
    for (int i = 0; i < indexes->ri_NumIndices; ++i) {
        IndexInfo* info = indexes->ri_IndexRelationInfo[i];
        if (!info->ii_ReadyForInserts)
            continue;
        for (int column = 0; column < info->ii_NumIndexAttrs; ++column)
            values[column] = heap_getattr(tuple, info->ii_IndexAttrNumbers[column],
                                          RelationGetDescr(table), &nulls[column]);
        Relation index = indexes->ri_IndexRelationDescs[i];
        index_insert(index, values, nulls, &tuple->t_self, table, UNIQUE_CHECK_NO, false, info);
    }
    CatalogCloseIndexes(indexes);
}

/// Locks the row, or returns false if it would have to wait for another transaction.
bool lock_row(Relation table, HeapTuple row, LockTupleMode mode) {
    HeapTupleData target = *row;
    Buffer buffer = InvalidBuffer;
    TM_FailureData failure;
    const TM_Result result = heap_lock_tuple(table, &target, GetCurrentCommandId(true), mode,
                                             LockWaitSkip, false, &buffer, &failure);
    ReleaseBuffer(buffer);
    return result == TM_Ok;
}

/// Adds events to the slot in this row, unless another open transaction has changed it.
bool add_to_row(Relation table, HeapTuple row, std::int32_t events) {
    LockTupleMode lock = LockTupleNoKeyExclusive;
    // heap_update must be allowed to wait; under the lock it has nothing to wait for.
    if (!lock_row(table, row, lock))
        return false;
    TupleDesc description = RelationGetDescr(table);
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    bool replaces[kColumns] = {};
    const Total before = Total::of(row, description);
    Total{!before.mark, before.events + static_cast<uint128>(events)}.put(values);
    for (const Column column : {kHead, kTotal, kCarries, kTail})
        replaces[column] = true;
    HeapTuple updated = heap_modify_tuple(row, description, values, nulls, replaces);
    ItemPointerData old = row->t_self;
    TM_FailureData failure;
#if PG_VERSION_NUM >= 190000
    TU_UpdateIndexes indexes;
    const TM_Result result = heap_update(table, &old, updated, GetCurrentCommandId(true), 0,
                                         InvalidSnapshot, true, &failure, &lock, &indexes);
#elif PG_VERSION_NUM >= 160000
    TU_UpdateIndexes indexes;
    const TM_Result result = heap_update(table, &old, updated, GetCurrentCommandId(true),
                                         InvalidSnapshot, true, &failure, &lock, &indexes);
#else
    const TM_Result result = heap_update(table, &old, updated, GetCurrentCommandId(true),
                                         InvalidSnapshot, true, &failure, &lock);
#endif
    if (result == TM_Ok && !HeapTupleIsHeapOnly(updated))
        insert_index_entries(table, updated);
    sodium_memzero(updated->t_data, updated->t_len);
    heap_freetuple(updated);
    return result == TM_Ok;
}

enum class Free { there_are_none, none_is, added };

/// Adds to the counter's first row, or the slot's, that is free. SnapshotSelf sees the last
/// committed version, whatever the transaction's own snapshot is.
Free add_to_free_row(Relation table, std::int64_t number, const std::int32_t* slot,
                     std::int32_t events) {
    Free result = Free::there_are_none;
    SysScanDesc scan = begin_scan(table, number, slot, SnapshotSelf);
    HeapTuple row = nullptr;
    while (result != Free::added && HeapTupleIsValid(row = systable_getnext(scan)))
        result = add_to_row(table, row, events) ? Free::added : Free::none_is;
    systable_endscan(scan);
    return result;
}

/// Deletes the unwanted rows of the scan, except those that another open transaction has changed,
/// and ends the scan.
template <class Unwanted>
void delete_rows(Relation table, SysScanDesc scan, Unwanted unwanted) {
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        bool is_null = false;
        const Datum owner = heap_getattr(row, kNumber + 1, RelationGetDescr(table), &is_null);
        if (unwanted(DatumGetInt64(owner)) && lock_row(table, row, LockTupleExclusive))
            CatalogTupleDelete(table, &row->t_self);
    }
    systable_endscan(scan);
}

/// Prunes pages and records their free space, as VACUUM would, without changing the index.
/// Autovacuum does not process this table, whose statistics stand still. Visits at most so many
/// pages of a large table, beginning at one that the clock chooses, so that a tick does not take
/// longer among thousands of counters.
void tidy(Relation table) {
    constexpr BlockNumber kSmall = 64;
    constexpr BlockNumber kMost = 256;
    const BlockNumber pages = RelationGetNumberOfBlocks(table);
    if (pages <= kSmall)
        return;
    const auto first =
        static_cast<BlockNumber>(static_cast<std::uint64_t>(GetCurrentTimestamp()) % pages);
    Buffer visibility = InvalidBuffer; // the page of the visibility map that 19 keeps at hand
    for (BlockNumber i = 0; i < std::min(pages, kMost); ++i) {
        const BlockNumber page = (first + i) % pages;
        Buffer buffer = ReadBuffer(table, page);
#if PG_VERSION_NUM >= 190000
        heap_page_prune_opt(table, buffer, &visibility, false);
#else
        heap_page_prune_opt(table, buffer);
#endif
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        const Size space = PageGetHeapFreeSpace(BufferGetPage(buffer));
        UnlockReleaseBuffer(buffer);
        RecordPageWithFreeSpace(table, page, space);
    }
    if (BufferIsValid(visibility))
        ReleaseBuffer(visibility);
    FreeSpaceMapVacuum(table);
}

} // namespace

void create_event_slots(std::int64_t number) {
    drop_event_slots(number);
    without_statistics([&] {
        Relation table = open_secret(kEvents);
        // A recorder that commits while its counter is dropped, or ends, leaves a slot behind.
        delete_rows(table, systable_beginscan(table, InvalidOid, false, SnapshotSelf, 0, nullptr),
                    [last = std::int64_t{0}, is_left = false](std::int64_t owner) mutable {
                        if (owner != last) // the rows of a counter lie beside each other
                            is_left = find_ended_numbered(owner).value_or(true);
                        last = owner;
                        return is_left;
                    });
        for (std::int32_t slot = 0; slot < kSlots; ++slot)
            insert_slot(table, number, slot, 0);
        close_secret(table);
    });
    CommandCounterIncrement();
}

void add_events(std::int64_t number, std::int32_t events) {
    without_statistics([&] {
        const std::int32_t slot = own_slot();
        Relation table = open_secret(kEvents);
        // A counter without slots has ended since the event was recorded.
        if (add_to_free_row(table, number, &slot, events) != Free::added &&
            add_to_free_row(table, number, nullptr, events) == Free::none_is)
            insert_slot(table, number, slot, events);
        close_secret(table);
    });
}

int128 total_events(std::int64_t number) {
    uint128 total = 0;
    std::int32_t slots = 0;
    without_statistics([&] {
        Relation table = open_secret(kEvents);
        SysScanDesc scan = begin_scan(table, number, nullptr, nullptr);
        HeapTuple row = nullptr;
        for (; HeapTupleIsValid(row = systable_getnext(scan)); ++slots)
            total += Total::of(row, RelationGetDescr(table)).events;
        systable_endscan(scan);
        tidy(table);
        close_secret(table);
    });
    // No check that the total has not fallen: that would depend on what was counted.
    if (slots < kSlots)
        raise_damaged("the counter's events are missing");
    return static_cast<int128>(total);
}

void drop_event_slots(std::int64_t number) {
    CommandCounterIncrement(); // so that rows of this very command can be deleted
    without_statistics([&] {
        Relation table = open_secret(kEvents);
        delete_rows(table, begin_scan(table, number, nullptr, SnapshotSelf),
                    [](std::int64_t) { return true; });
        close_secret(table);
    });
    CommandCounterIncrement();
}

} // namespace dp_counter::pg
