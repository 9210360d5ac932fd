#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "pg/persons/tallies.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/quiet_statistics.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kUsed, kNumber, kDigest, kOwnWindow, kStream, kColumns };
static_assert(kTallyKeyBytes == crypto_generichash_KEYBYTES);
static_assert(UUID_LEN >= crypto_generichash_BYTES_MIN);

/// New tallies are stored so many at a time, in the index's order: otherwise each would go to
/// another page. So the order of the table's rows does not show that of the persons.
constexpr std::size_t kMostKept = std::size_t{1} << 18;

HeapTuple row_of(const Tallies& tallies, const pg_uuid_t& digest, const Tally& tally) {
    Datum values[kColumns] = {
        Int64GetDatum(tally.used), Int64GetDatum(tallies.number), UUIDPGetDatum(&digest),
        Int32GetDatum(static_cast<std::int32_t>(tally.window)), Int32GetDatum(tally.group)};
    bool nulls[kColumns] = {};
    nulls[kStream] = tally.group == 0;
    return heap_form_tuple(RelationGetDescr(tallies.table), values, nulls);
}

void store_kept(Tallies& tallies) {
    NewTally* end = tallies.kept + tallies.kept_count;
    std::sort(tallies.kept, end, [](const NewTally& a, const NewTally& b) {
        return std::memcmp(a.digest.data, b.digest.data, UUID_LEN) < 0;
    });
    for (const NewTally* tally = tallies.kept; tally != end;) {
        CHECK_FOR_INTERRUPTS();
        const pg_uuid_t& digest = tally->digest;
        Tally shared = (tally++)->tally; // by persons of one digest
        for (; tally != end && std::memcmp(tally->digest.data, digest.data, UUID_LEN) == 0; ++tally)
            shared = {std::max(shared.window, tally->tally.window),
                      tallies.has_times ? std::max(shared.used, tally->tally.used)
                                        : shared.used + tally->tally.used,
                      tally->tally.window > shared.window ? tally->tally.group : shared.group};
        HeapTuple row = row_of(tallies, digest, shared);
        CatalogTupleInsertWithInfo(tallies.table, row, tallies.indexes);
        heap_freetuple(row);
    }
    tallies.kept_count = 0;
    tallies.is_fresh = false;
}

/// The digest of nobody: of a person with a probability of 2^-128.
const pg_uuid_t kMark{};
constexpr std::int32_t kMarkWindow = INT32_MAX; // never earlier

} // namespace

bytea* new_tally_key(MemoryContext context) {
    auto* key = static_cast<bytea*>(MemoryContextAlloc(context, VARHDRSZ + kTallyKeyBytes));
    SET_VARSIZE(key, VARHDRSZ + kTallyKeyBytes);
    make_secret_key(VARDATA(key), kTallyKeyBytes);
    return key;
}

void take_tally_key(Tallies& tallies, const bytea* key) {
    if (VARSIZE_ANY_EXHDR(key) != kTallyKeyBytes)
        raise_damaged("the counter's key is damaged");
    tallies.key = reinterpret_cast<const unsigned char*>(VARDATA_ANY(key));
}

void open_tallies(Tallies& tallies, std::int64_t number, std::int32_t first_window, bool is_fresh) {
    tallies.number = number;
    tallies.first_window = first_window;
    tallies.is_fresh = is_fresh;
    tallies.table = open_secret(kTallies);
    tallies.index = index_open(secret_relation(kTallies.index), AccessShareLock);
    tallies.slot = table_slot_create(tallies.table, nullptr);
    // Under the counter's lock: the last committed tallies, and those that this tick has stored,
    // for persons who share a digest.
#if PG_VERSION_NUM >= 190000
    tallies.scan =
        index_beginscan(tallies.table, tallies.index, SnapshotSelf, nullptr, 2, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
    tallies.scan = index_beginscan(tallies.table, tallies.index, SnapshotSelf, nullptr, 2, 0);
#else
    tallies.scan = index_beginscan(tallies.table, tallies.index, SnapshotSelf, 2, 0);
#endif
    tallies.indexes = open_indexes(tallies.table);
    tallies.kept = static_cast<NewTally*>(palloc(kMostKept * sizeof(NewTally)));
    tallies.kept_count = 0;
}

Tally read_tally(Tallies& tallies, const void* person, std::size_t bytes) {
    (void)crypto_generichash(tallies.digest.data, UUID_LEN,
                             static_cast<const unsigned char*>(person), bytes, tallies.key,
                             kTallyKeyBytes);
    ItemPointerSetInvalid(&tallies.place);
    Tally tally{kNoWindow, 0};
    if (tallies.is_fresh)
        return tally;
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(tallies.number));
    ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_UUID_EQ, UUIDPGetDatum(&tallies.digest));
    index_rescan(tallies.scan, keys, 2, nullptr, 0);
    if (index_getnext_slot(tallies.scan, ForwardScanDirection, tallies.slot)) {
        bool is_null = false;
        tally = {DatumGetInt32(slot_getattr(tallies.slot, kOwnWindow + 1, &is_null)),
                 DatumGetInt64(slot_getattr(tallies.slot, kUsed + 1, &is_null))};
        const Datum group = slot_getattr(tallies.slot, kStream + 1, &is_null);
        tally.group = is_null ? 0 : DatumGetInt32(group);
        tallies.place = tallies.slot->tts_tid;
        const auto writer = [&](AttrNumber column) {
            return slot_getsysattr(tallies.slot, column, &is_null);
        };
        if (TransactionIdIsCurrentTransactionId(
                DatumGetTransactionId(writer(MinTransactionIdAttributeNumber))) &&
            DatumGetCommandId(writer(MinCommandIdAttributeNumber)) == GetCurrentCommandId(false))
            CommandCounterIncrement(); // of this tick: else it could not be updated
    }
    return tally;
}

void write_tally(Tallies& tallies, const Tally& tally) {
    // Also if nothing has changed: how much is written depends on who has rows, not on who was
    // counted.
    if (ItemPointerIsValid(&tallies.place)) {
        HeapTuple row = row_of(tallies, tallies.digest, tally);
        CatalogTupleUpdateWithInfo(tallies.table, &tallies.place, row, tallies.indexes);
        heap_freetuple(row);
        return;
    }
    if (tally.window < tallies.first_window)
        return; // no longer needed
    tallies.kept[tallies.kept_count++] = {tallies.digest, tally};
    if (tallies.kept_count == kMostKept)
        store_kept(tallies); // now: the next person may share a digest with one of them
}

void close_tallies(Tallies& tallies) {
    store_kept(tallies);
    pfree(tallies.kept);
    CatalogCloseIndexes(tallies.indexes);
    ExecDropSingleTupleTableSlot(tallies.slot);
    index_endscan(tallies.scan);
    index_close(tallies.index, AccessShareLock);
    close_secret(tallies.table);
    CommandCounterIncrement();
}

void mark_tallies(std::int64_t number) {
    insert_secret_row(kTallies, {{kUsed, Int64GetDatum(0)},
                                 {kNumber, Int64GetDatum(number)},
                                 {kDigest, UUIDPGetDatum(&kMark)},
                                 {kOwnWindow, Int32GetDatum(kMarkWindow)}});
}

void check_tallies(std::int64_t number, std::int64_t reader) {
    if (!has_secret_row(kTallies,
                        {number_key(number, kNumber), {kDigest, F_UUID_EQ, UUIDPGetDatum(&kMark)}}))
        raise_damaged(psprintf(R"(what the persons of counter "%s" have used up is missing)",
                               name_of_relation(counter_numbered(reader))));
}

void take_over_tallies(std::int64_t from_number, std::int64_t to_number, std::int64_t from,
                       std::int64_t to) {
    SecretRowsInOrder rows = begin_rows_in_order(kTallies, {number_key(from_number, kNumber)});
    Datum values[kColumns];
    bool nulls[kColumns];
    while (next_row_in_order(rows, values, nulls)) {
        CHECK_FOR_INTERRUPTS();
        const std::int64_t used = DatumGetInt64(values[kUsed]);
        replace_row_in_order(rows, {{kUsed, Int64GetDatum(converted(used, from, to))},
                                    {kNumber, Int64GetDatum(to_number)}});
    }
    end_rows_in_order(rows);
}

void sweep_tallies(std::int64_t number, bool (*keeps)(const Tally& tally, void* context),
                   void* context) {
    Relation table = open_secret(kTallies);
    SysScanDesc scan = begin_secret_scan(table, kTallies, {number_key(number, kNumber)});
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        CHECK_FOR_INTERRUPTS();
        Datum values[kColumns];
        bool nulls[kColumns];
        heap_deform_tuple(row, RelationGetDescr(table), values, nulls);
        const Tally tally{DatumGetInt32(values[kOwnWindow]), DatumGetInt64(values[kUsed]),
                          nulls[kStream] ? 0 : DatumGetInt32(values[kStream])};
        if (tally.window != kMarkWindow && !keeps(tally, context))
            CatalogTupleDelete(table, &row->t_self);
    }
    systable_endscan(scan);
    close_secret(table);
}

void delete_tallies(std::int64_t number) {
    without_statistics([&] { delete_secret_rows(kTallies, {number_key(number, kNumber)}); });
}

} // namespace dp_counter::pg
