#include <cstring>

#include <sodium.h>

#include "pg/tables/streams_table.hpp"

#include "pg/server/secret_memory.hpp"

namespace dp_counter::pg {

namespace {

enum Column { kNumber, kStream, kHead, kTotal, kCarries, kState, kTail };

constexpr int kCarry = 63; ///< total + carries * 2^63

Datum low_of(int128 total) {
    constexpr int128 kLow = (int128{1} << kCarry) - 1;
    return Int64GetDatum(static_cast<std::int64_t>(total & kLow));
}

Datum carries_of(int128 total) {
    return Int64GetDatum(static_cast<std::int64_t>(total >> kCarry));
}

constexpr const char* kMissing = "a stream of the counter is missing";

void take(const Datum* values, StreamRow& row) {
    row.stream = DatumGetInt32(values[kStream]);
    row.mark = DatumGetBool(values[kHead]);
    row.total = (static_cast<int128>(DatumGetInt64(values[kCarries])) << kCarry) +
                DatumGetInt64(values[kTotal]);
    struct varlena* plain = PG_DETOAST_DATUM_COPY(values[kState]);
    row.state = static_cast<struct varlena*>(allocate_secret(CurrentMemoryContext, VARSIZE(plain)));
    std::memcpy(row.state, plain, VARSIZE(plain));
    sodium_memzero(plain, VARSIZE(plain));
    pfree(plain);
}

} // namespace

void check_state_bytes(Size bytes) {
    if (bytes > kMostStateBytes)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("the noise of the counter takes %zu bytes, more than %zu", bytes,
                               kMostStateBytes),
                        errhint("Choose a smaller k, or leave it out, or a smaller horizon. The "
                                "column state_bytes of dp_plan shows what they take.")));
}

void insert_streams(std::int64_t number, std::int32_t first, std::int32_t last,
                    struct varlena* state) {
    check_state_bytes(VARSIZE_ANY_EXHDR(state));
    const NewSecretRows rows = begin_secret_rows(kStreams);
    for (std::int32_t stream = first; stream <= last; ++stream) {
        CHECK_FOR_INTERRUPTS();
        add_secret_row(rows, {{kNumber, Int64GetDatum(number)},
                              {kStream, Int32GetDatum(stream)},
                              {kHead, BoolGetDatum(false)},
                              {kTotal, low_of(0)},
                              {kCarries, carries_of(0)},
                              {kState, PointerGetDatum(state)},
                              {kTail, BoolGetDatum(false)}});
    }
    end_secret_rows(rows);
}

void read_stream(std::int64_t number, std::int32_t stream, StreamRow& row) {
    if (!visit_secret_rows(kStreams, {number_key(number), small_key(stream, kStream)},
                           [&](const Datum* values, const bool*) { take(values, row); }))
        raise_damaged(kMissing);
}

SecretRowsInOrder begin_streams(std::int64_t number) {
    return begin_rows_in_order(kStreams, {number_key(number)});
}

void next_stream(SecretRowsInOrder& streams, std::int32_t stream, StreamRow& row) {
    Datum values[kMostSecretColumns];
    bool nulls[kMostSecretColumns];
    if (!next_row_in_order(streams, values, nulls) || DatumGetInt32(values[kStream]) != stream)
        raise_damaged(kMissing);
    take(values, row);
    sodium_memzero(values, sizeof(values));
}

void update_stream(const SecretRowsInOrder& streams, const StreamRow& row) {
    replace_row_in_order(streams, {{kHead, BoolGetDatum(!row.mark)},
                                   {kTotal, low_of(row.total)},
                                   {kCarries, carries_of(row.total)},
                                   {kState, PointerGetDatum(row.state)},
                                   {kTail, BoolGetDatum(!row.mark)}});
}

void delete_stream(std::int64_t number, std::int32_t stream) {
    delete_secret_rows(kStreams, {number_key(number), small_key(stream, kStream)});
}

void delete_streams(std::int64_t number) {
    delete_secret_rows(kStreams, {number_key(number)});
}

} // namespace dp_counter::pg
