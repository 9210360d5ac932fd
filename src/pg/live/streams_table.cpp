#include <cstring>

#include <sodium.h>

#include "pg/live/streams_table.hpp"

#include "pg/live/secret_tables.hpp"
#include "pg/server/secret_memory.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kCounter, kStream, kTotal, kCarries, kState, kColumns };

constexpr int kCarry = 63; ///< total + carries * 2^63

void put_total(Datum (&values)[kColumns], int128 total) {
    constexpr int128 kLow = (int128{1} << kCarry) - 1;
    values[kTotal] = Int64GetDatum(static_cast<std::int64_t>(total & kLow));
    values[kCarries] = Int64GetDatum(static_cast<std::int64_t>(total >> kCarry));
}

/// A scan of the counter's streams, or of one.
SysScanDesc begin_scan(Relation table, std::int32_t counter, const std::int32_t* stream) {
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], kCounter + 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(counter));
    if (stream != nullptr)
        ScanKeyInit(&keys[1], kStream + 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(*stream));
    return systable_beginscan(table, secret_relation(kStreams.index), true, nullptr,
                              stream != nullptr ? 2 : 1, keys);
}

[[noreturn]] void raise_missing() {
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("a stream of the counter is missing"),
                    errhint("Restore the extension's tables from a backup, or drop the counter.")));
    pg_unreachable();
}

} // namespace

void insert_streams(std::int32_t counter, std::int32_t streams, struct varlena* state) {
    const bool nulls[kColumns] = {};
    Datum values[kColumns] = {};
    values[kCounter] = Int32GetDatum(counter);
    put_total(values, 0);
    values[kState] = PointerGetDatum(state);
    Relation table = open_secret(kStreams);
    CatalogIndexState indexes = CatalogOpenIndexes(table);
    for (std::int32_t stream = 1; stream <= streams; ++stream) {
        CHECK_FOR_INTERRUPTS();
        values[kStream] = Int32GetDatum(stream);
        HeapTuple tuple =
            heap_form_tuple(RelationGetDescr(table), values, const_cast<bool*>(nulls));
        CatalogTupleInsertWithInfo(table, tuple, indexes);
        heap_freetuple(tuple);
    }
    CatalogCloseIndexes(indexes);
    close_secret(table);
    CommandCounterIncrement();
}

void read_stream(std::int32_t counter, std::int32_t stream, StreamRow& row) {
    Relation table = open_secret(kStreams);
    SysScanDesc scan = begin_scan(table, counter, &stream);
    HeapTuple tuple = systable_getnext(scan);
    if (!HeapTupleIsValid(tuple))
        raise_missing();
    Datum values[kColumns];
    bool nulls[kColumns];
    heap_deform_tuple(tuple, RelationGetDescr(table), values, nulls);
    row.stream = stream;
    row.total = (static_cast<int128>(DatumGetInt64(values[kCarries])) << kCarry) +
                DatumGetInt64(values[kTotal]);
    struct varlena* plain = PG_DETOAST_DATUM_COPY(values[kState]);
    row.state = static_cast<struct varlena*>(allocate_secret(CurrentMemoryContext, VARSIZE(plain)));
    std::memcpy(row.state, plain, VARSIZE(plain));
    sodium_memzero(plain, VARSIZE(plain));
    pfree(plain);
    systable_endscan(scan);
    close_secret(table);
}

void update_stream(std::int32_t counter, const StreamRow& row) {
    const bool nulls[kColumns] = {};
    const bool replaces[kColumns] = {false, false, true, true, true};
    Datum values[kColumns] = {};
    put_total(values, row.total);
    values[kState] = PointerGetDatum(row.state);
    Relation table = open_secret(kStreams);
    SysScanDesc scan = begin_scan(table, counter, &row.stream);
    HeapTuple old = systable_getnext(scan);
    if (!HeapTupleIsValid(old))
        raise_missing();
    HeapTuple changed = heap_modify_tuple(old, RelationGetDescr(table), values,
                                          const_cast<bool*>(nulls), const_cast<bool*>(replaces));
    CatalogTupleUpdate(table, &old->t_self, changed);
    sodium_memzero(changed->t_data, changed->t_len);
    heap_freetuple(changed);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

void delete_streams(std::int32_t counter) {
    Relation table = open_secret(kStreams);
    SysScanDesc scan = begin_scan(table, counter, nullptr);
    HeapTuple row = nullptr;
    while (HeapTupleIsValid(row = systable_getnext(scan)))
        CatalogTupleDelete(table, &row->t_self);
    systable_endscan(scan);
    close_secret(table);
    CommandCounterIncrement();
}

} // namespace dp_counter::pg
