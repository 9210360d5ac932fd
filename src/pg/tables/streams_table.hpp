// The streams of all counters: the true total and the noise of each.
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/secret_tables.hpp"

namespace dp_counter::pg {

/// A row of dp_counter_private.streams. Trivial: lives in PostgreSQL's memory.
struct StreamRow {
    std::int32_t stream;   ///< 1, 2, ...: the number of its group
    bool mark;             ///< an update flips it at both ends, so that its WAL has one length
    int128 total;          ///< up to the last closed step, 0 .. 2^126
    struct varlena* state; ///< in secret memory of the current context
};

/// A row is on one page: nothing of it is in a TOAST table, which has no row security.
inline constexpr Size kMostStateBytes = 8000;

/// Raises program_limit_exceeded for more than kMostStateBytes.
void check_state_bytes(Size bytes);

/// Stores the new streams first .. last of a counter, with a total of 0 and this state, whose
/// length is checked.
void insert_streams(std::int64_t number, std::int32_t first, std::int32_t last,
                    struct varlena* state);

/// Reads a stream. Raises data_corrupted if there is none.
void read_stream(std::int64_t number, std::int32_t stream, StreamRow& row);

/// All streams of a counter one after the other, 1, 2, ..., to advance each. next_stream raises
/// data_corrupted if there is none; update_stream stores what changes with a step of the stream
/// that was read last: all but its number.
[[nodiscard]] SecretRowsInOrder begin_streams(std::int64_t number);
void next_stream(SecretRowsInOrder& streams, std::int32_t stream, StreamRow& row);
void update_stream(const SecretRowsInOrder& streams, const StreamRow& row);

/// Deletes one, of a group that was dropped.
void delete_stream(std::int64_t number, std::int32_t stream);

void delete_streams(std::int64_t number);

} // namespace dp_counter::pg
