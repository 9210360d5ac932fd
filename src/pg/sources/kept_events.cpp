#include "pg/sources/kept_events.hpp"

#include <cmath>

#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/utc_day.hpp"
#include "pg/tables/contributions_table.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace dp_counter::pg {

namespace {

/// A report reads all events; of those that a counter does not count, none uses up its bound.
const char* of_fewer(const SourceCounterRow& row) {
    const bool is_of_groups = row.by != InvalidAttrNumber && row.others == 0;
    const bool is_of_values = row.measure.column != InvalidAttrNumber;
    if (!is_of_groups && !is_of_values)
        return "";
    return psprintf(" Events %s%s%s use up none of it, so it may keep more of those that count.",
                    is_of_groups ? "of other groups" : "",
                    is_of_groups && is_of_values ? " or " : "",
                    is_of_values ? "without a value" : "");
}

} // namespace

char* kept_of(const Promise& promise) {
    const SourceCounterRow& row = *promise.row;
    if (row.measure.kind == MeasureKind::persons || row.active != 0)
        return nullptr;
    KeptBound kept;
    if (!read_kept(row.source, row.event, row.per_person, kept))
        return psprintf("Nobody has asked which share of the events the bound keeps: "
                        "dp_source_suggest says it and charges the budget, for example %s, a tenth "
                        "of this counter's epsilon.",
                        text_of(trimmed(product(promise.epsilon, decimal("0.1")))));
    const KeptShare& share = kept.share;
    const auto high = static_cast<int>(std::ceil(100 * share.high));
    const char* day = utc_day(kept.released_at);
    if (high == 100 && (std::isnan(share.share) || share.low <= 0))
        return psprintf(
            "What was released on %s does not show which share of the events a bound of "
            "%lld keeps: dp_source_suggest shows it for the bound that it suggests, "
            "dp_source_contributions for each.",
            day, static_cast<long long>(row.per_person));
    const char* besides =
        psprintf("%s%s", of_fewer(row),
                 row.measure.kind == MeasureKind::sum || row.measure.kind == MeasureKind::avg
                     ? " What is beyond lower and upper is cut off besides."
                     : "");
    if (std::isnan(share.share))
        return psprintf("The bound keeps at most %d %% of the events that a report has read "
                        "(released on %s).%s",
                        high, day, besides);
    return psprintf("The bound keeps at most about %d %% of the events that a report has read "
                    "(with 95 %% confidence at most %d %%, released on %s).%s",
                    static_cast<int>(std::lround(100 * share.share)), high, day, besides);
}

} // namespace dp_counter::pg
