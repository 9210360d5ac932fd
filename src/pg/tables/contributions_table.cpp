#include "pg/tables/contributions_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace dp_counter::pg {

namespace {

enum Column { kSource, kEvent, kBound, kKept, kLow, kHigh, kReleasedAt };

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

SecretKey event_key(AttrNumber event) {
    return {kEvent, F_INT2EQ, Int16GetDatum(event)};
}

KeptBound kept_in(const Datum* values, const bool* nulls) {
    return {DatumGetInt32(values[kBound]),
            {nulls[kKept] ? kUnknown : DatumGetFloat8(values[kKept]), DatumGetFloat8(values[kLow]),
             DatumGetFloat8(values[kHigh])},
            DatumGetTimestampTz(values[kReleasedAt])};
}

double width_of(const KeptBound& kept) {
    return kept.share.high - kept.share.low;
}

/// Whether what is known of the bound says it much better: a poor report must not hide a good one,
/// nor an old one a later one that is about as good.
bool is_known_better(const KeptBound& kept, SecretKeys keys) {
    bool is_better = false;
    visit_secret_rows(kContributions, keys, [&](const Datum* values, const bool* nulls) {
        is_better = width_of(kept) > 2 * width_of(kept_in(values, nulls));
    });
    return is_better;
}

} // namespace

bool read_kept(Oid source, AttrNumber event, std::int64_t bound, KeptBound& kept) {
    KeptBound below{0, {kUnknown, 0, 0}, 0};
    KeptBound above{std::numeric_limits<std::int32_t>::max(), {kUnknown, 0, 1}, 0};
    bool is_known = false;
    const bool is_any = visit_secret_rows(kContributions, {oid_key(source), event_key(event)},
                                          [&](const Datum* values, const bool* nulls) {
                                              const KeptBound one = kept_in(values, nulls);
                                              if (one.bound == bound)
                                                  kept = one;
                                              is_known = is_known || one.bound == bound;
                                              if (one.bound < bound && one.bound > below.bound)
                                                  below = one;
                                              if (one.bound > bound && one.bound < above.bound)
                                                  above = one;
                                          });
    if (!is_known)
        kept = {static_cast<std::int32_t>(bound),
                {kUnknown, std::min(below.share.low, above.share.high),
                 std::max(below.share.low, above.share.high)},
                std::max(below.released_at, above.released_at)};
    return is_any;
}

void store_kept(Oid source, AttrNumber event, const KeptBound* bounds, std::int32_t count) {
    for (std::int32_t i = 0; i < count; ++i) {
        const KeptBound& kept = bounds[i];
        const auto keys = {oid_key(source), event_key(event), small_key(kept.bound, kBound)};
        if (is_known_better(kept, keys))
            continue;
        delete_secret_rows(kContributions, keys);
        insert_secret_row(kContributions,
                          {{kSource, ObjectIdGetDatum(source)},
                           {kEvent, Int16GetDatum(event)},
                           {kBound, Int32GetDatum(kept.bound)},
                           {kKept, Float8GetDatum(kept.share.share), std::isnan(kept.share.share)},
                           {kLow, Float8GetDatum(kept.share.low)},
                           {kHigh, Float8GetDatum(kept.share.high)},
                           {kReleasedAt, TimestampTzGetDatum(kept.released_at)}});
    }
}

void delete_kept(Oid source) {
    delete_secret_rows(kContributions, {oid_key(source)});
}

} // namespace dp_counter::pg
