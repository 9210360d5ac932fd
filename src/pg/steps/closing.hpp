// Closes steps of a counter of either kind: advances all its streams, or releases each step by
// itself where the counter is not cumulative, and stores the releases, which are not visible yet.
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"

namespace dp_counter::pg {

/// What a transaction of a tick has closed.
enum class Closed {
    nothing, ///< no step is due
    marked,  ///< none, but has stored that the next one reads; nothing has been closed before
    part,    ///< steps, and more may be due
    all,
};

/// What the open steps have counted. The memory is the caller's.
struct Counted {
    std::int64_t steps;
    std::int32_t groups;
    std::int32_t numbers; ///< of each group: 2 of an average, the bins of a histogram, else 1
    /// Of step s = 0, 1, ..., group 1 + g and number n: cells[(s * groups + g) * numbers + n], in
    /// stream 1 + g * numbers + n.
    const int128* cells;
    std::int64_t least; ///< what no true number is below
    /// Where the period of each step begins; null for a counter without periods.
    const TimestampTz* periods;
    /// When the tick was called. Releases show this time: a later time would reveal how long
    /// reading the rows took, and so how many there are.
    TimestampTz called;
    const bool* dropped = nullptr; ///< of group 1 + g: it is released no longer; null: none is
    bool has_bins = false;         ///< a histogram: its numbers are released as bins
};

/// Closes counted.steps steps after row.steps, as part of the current transaction, and stores in
/// `row` and in the table how far the counter has come.
void close_streams(CounterRow& row, const Counted& counted);

} // namespace dp_counter::pg
