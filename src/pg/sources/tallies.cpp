#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "pg/sources/tallies.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/quiet_statistics.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kUsed, kNumber, kOwnWindow, kDigest, kColumns };
static_assert(kTallyKeyBytes == crypto_generichash_KEYBYTES);
static_assert(UUID_LEN >= crypto_generichash_BYTES_MIN);

/// New tallies are stored so many at a time, in the index's order: otherwise each would go to
/// another page. So the order of the table's rows does not show that of the persons.
constexpr std::size_t kMostKept = std::size_t{1} << 18;

HeapTuple row_of(const Tallies& tallies, const pg_uuid_t& digest, std::int64_t used) {
    Datum values[kColumns] = {Int64GetDatum(used), Int32GetDatum(tallies.number), Int32GetDatum(0),
                              UUIDPGetDatum(&digest)};
    bool nulls[kColumns] = {};
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
        std::int64_t used = 0;
        for (; tally != end && std::memcmp(tally->digest.data, digest.data, UUID_LEN) == 0; ++tally)
            used += tally->used; // of persons who share a digest
        HeapTuple row = row_of(tallies, digest, used);
        CatalogTupleInsertWithInfo(tallies.table, row, tallies.indexes);
        heap_freetuple(row);
    }
    tallies.kept_count = 0;
    tallies.is_fresh = false;
}

} // namespace

bytea* new_tally_key(MemoryContext context) {
    auto* key = static_cast<bytea*>(MemoryContextAlloc(context, VARHDRSZ + kTallyKeyBytes));
    SET_VARSIZE(key, VARHDRSZ + kTallyKeyBytes);
    make_secret_key(VARDATA(key), kTallyKeyBytes);
    return key;
}

void open_tallies(Tallies& tallies, std::int32_t number, const bytea* key, bool is_fresh) {
    if (VARSIZE_ANY_EXHDR(key) != kTallyKeyBytes)
        raise_damaged("the counter's key is damaged");
    tallies.number = number;
    tallies.key = reinterpret_cast<const unsigned char*>(VARDATA_ANY(key));
    tallies.is_fresh = is_fresh;
    tallies.table = open_secret(kTallies);
    tallies.index = index_open(secret_relation(kTallies.index), AccessShareLock);
    tallies.slot = table_slot_create(tallies.table, nullptr);
    // Under the counter's lock: the last committed tallies, and those that this tick has stored,
    // for persons who share a digest.
#if PG_VERSION_NUM >= 180000
    tallies.scan = index_beginscan(tallies.table, tallies.index, SnapshotSelf, nullptr, 2, 0);
#else
    tallies.scan = index_beginscan(tallies.table, tallies.index, SnapshotSelf, 2, 0);
#endif
    tallies.indexes = CatalogOpenIndexes(tallies.table);
    tallies.kept = static_cast<NewTally*>(palloc(kMostKept * sizeof(NewTally)));
    tallies.kept_count = 0;
}

std::int64_t read_tally(Tallies& tallies, const void* person, std::size_t bytes) {
    (void)crypto_generichash(tallies.digest.data, UUID_LEN,
                             static_cast<const unsigned char*>(person), bytes, tallies.key,
                             kTallyKeyBytes);
    ItemPointerSetInvalid(&tallies.place);
    std::int64_t used = 0;
    if (tallies.is_fresh)
        return used;
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(tallies.number));
    ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_UUID_EQ, UUIDPGetDatum(&tallies.digest));
    index_rescan(tallies.scan, keys, 2, nullptr, 0);
    if (index_getnext_slot(tallies.scan, ForwardScanDirection, tallies.slot)) {
        bool is_null = false;
        used = DatumGetInt64(slot_getattr(tallies.slot, kUsed + 1, &is_null));
        tallies.place = tallies.slot->tts_tid;
        const Datum writer =
            slot_getsysattr(tallies.slot, MinTransactionIdAttributeNumber, &is_null);
        if (TransactionIdIsCurrentTransactionId(DatumGetTransactionId(writer)))
            CommandCounterIncrement(); // of this tick: else it could not be updated
    }
    return used;
}

void write_tally(Tallies& tallies, std::int64_t used) {
    // Also if nothing has changed: how much is written depends on who has rows, not on who was
    // counted.
    if (ItemPointerIsValid(&tallies.place)) {
        HeapTuple row = row_of(tallies, tallies.digest, used);
        CatalogTupleUpdateWithInfo(tallies.table, &tallies.place, row, tallies.indexes);
        heap_freetuple(row);
        return;
    }
    tallies.kept[tallies.kept_count++] = {tallies.digest, used};
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

void delete_tallies(std::int32_t number) {
    without_statistics([&] { delete_secret_rows(kTallies, {number_key(number, kNumber)}); });
}

} // namespace dp_counter::pg
