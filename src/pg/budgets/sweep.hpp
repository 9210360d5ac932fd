// What the entries of a budget leave for one more.
//
// A window [s, s + per) loses the epsilon of each entry that is for it and whose rows it meets: s
// is after since - per, before until, and within `begins`. The sweep goes along these ends, and
// adds up in decimals.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// Times of rows, as their column shows them (timestamptz: in UTC): from `since` to before `until`.
/// Both may be infinite.
struct EntryRange {
    Timestamp since, until;
};

inline constexpr EntryRange kAllTimes{DT_NOBEGIN, DT_NOEND};

struct BudgetEntry {
    EntryRange range;  ///< of the rows
    EntryRange begins; ///< where the windows begin that it is for
    Numeric epsilon;
};

/// Trivial.
struct Remaining {
    Numeric least; ///< what is left for the whole range
    Timestamp
        enough_from; ///< from when on there is enough for the rest of the range; `until`: never
};

/// What a budget leaves of `total` for the windows of this entry, where `entries` (BudgetEntry*)
/// have spent it. The windows have per_days; 0: there is one.
[[nodiscard]] Remaining remaining_of(Numeric total, const List* entries, std::int32_t per_days,
                                     const BudgetEntry& wanted);

/// The same where nothing is wanted: what is left for all windows of the range that begin there.
[[nodiscard]] Numeric left_of(Numeric total, const List* entries, std::int32_t per_days,
                              EntryRange range, EntryRange begins = kAllTimes);

} // namespace dp_counter::pg
