// Which share of a source's events each bound keeps at most, as reports released it.
#pragma once

#include <cstdint>

#include "core/accuracy/kept_share.hpp"

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A row of dp_counter_private.contributions. Trivial.
struct KeptBound {
    std::int32_t bound;
    KeptShare share;
    TimestampTz released_at;
};

/// What is known of this bound, for the events of a column of the source or for all its rows (0).
/// Of a bound that no report has looked at only what follows from those next to it: a larger one
/// keeps more. False if there is none.
[[nodiscard]] bool read_kept(Oid source, AttrNumber event, std::int64_t bound, KeptBound& kept);

/// Stores it in place of what was known of these bounds, but of one whose interval is less than
/// half as wide.
void store_kept(Oid source, AttrNumber event, const KeptBound* bounds, std::int32_t count);

/// Deletes all of a source.
void delete_kept(Oid source);

} // namespace dp_counter::pg
