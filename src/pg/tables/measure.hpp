// What a counter over a source counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

enum class MeasureKind : std::uint8_t {
    count,     ///< events
    persons,   ///< persons with an event
    sum,       ///< of a column
    avg,       ///< of a column
    share,     ///< of the events for which a boolean column is true
    histogram, ///< events, by the bin in which a column is
    active,    ///< persons with an event in the last days before the end of a period
};

/// Trivial.
struct Measure {
    MeasureKind kind;
    AttrNumber column;  ///< 0 where there is none
    std::int64_t lower; ///< values are clamped to lower .. upper, -2^31 .. 2^31
    std::int64_t upper;
    std::span<const std::int64_t> bins = {}; ///< of a histogram their lower ends, rising

    /// An average is released as two numbers: an event adds value - lower to the one and upper -
    /// value to the other, upper - lower to both together, whatever the value is.
    [[nodiscard]] bool is_average() const {
        return kind == MeasureKind::avg || kind == MeasureKind::share;
    }
    /// How many numbers are released of a group.
    [[nodiscard]] std::int32_t streams() const {
        return is_average() ? 2 : std::max(static_cast<std::int32_t>(bins.size()), 1);
    }

    /// The bin of a value, from 0. The first one also has what is below it.
    [[nodiscard]] std::int64_t bin_of(std::int64_t value) const {
        return std::upper_bound(bins.begin() + 1, bins.end(), value) - bins.begin() - 1;
    }

    /// The most that an event can add, in l1.
    [[nodiscard]] std::int64_t largest() const {
        return is_average() ? upper - lower : std::max(lower < 0 ? -lower : lower, upper);
    }
};

/// As SQL names it: "count", "persons", "sum", "avg", "share", "histogram", "active".
[[nodiscard]] const char* name_of(MeasureKind kind);
/// Raises data_corrupted for another name.
[[nodiscard]] MeasureKind measure_named(const char* name);

/// Bins as an array of bigint, which they are stored as, and back, in CurrentMemoryContext.
[[nodiscard]] Datum array_of(std::span<const std::int64_t> bins);
[[nodiscard]] std::span<const std::int64_t> bins_in(Datum array);

} // namespace dp_counter::pg
