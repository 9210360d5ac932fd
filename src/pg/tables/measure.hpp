// What a counter over a source counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/attnum.h"
}

namespace dp_counter::pg {

enum class MeasureKind : std::uint8_t {
    count,   ///< events
    persons, ///< persons with an event
    sum,     ///< of a column
    avg,     ///< of a column
    share,   ///< of the events for which a boolean column is true
};

/// Trivial.
struct Measure {
    MeasureKind kind;
    AttrNumber column;  ///< 0 where there is none
    std::int64_t lower; ///< values are clamped to lower .. upper, -2^31 .. 2^31
    std::int64_t upper;

    /// An average is released as two numbers: an event adds value - lower to the one and upper -
    /// value to the other, upper - lower to both together, whatever the value is.
    [[nodiscard]] bool is_average() const {
        return kind == MeasureKind::avg || kind == MeasureKind::share;
    }
    [[nodiscard]] std::int32_t streams() const { return is_average() ? 2 : 1; }

    /// The most that an event can add, in l1.
    [[nodiscard]] std::int64_t largest() const {
        return is_average() ? upper - lower : std::max(lower < 0 ? -lower : lower, upper);
    }
};

/// As SQL names it: "count", "persons", "sum", "avg", "share".
[[nodiscard]] const char* name_of(MeasureKind kind);
/// Raises data_corrupted for another name.
[[nodiscard]] MeasureKind measure_named(const char* name);

} // namespace dp_counter::pg
