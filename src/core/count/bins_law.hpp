// The noise of a histogram with many bins: one running total along them for each period.
//
// Bins are the steps of a stream with a horizon of so many, which is drawn whole when a period
// closes. A bin is released as the difference of two of its releases, the last one of the total up
// to it: counts of bins add up to totals, and a total has the noise of a few nodes instead of that
// of all its bins. An event is in one step of one stream: the sensitivity is that of a running
// count (docs/derivation.md, section 12, "Histograms").
#pragma once

#include <cstdint>

#include "core/count/mechanism_spec.hpp"

namespace dp_counter {

struct BinsLaw {
    static constexpr std::int32_t kMostBins = 4096;

    PrivacyUnit unit;
    std::int32_t bins;

    /// Throws Error (parameter) for a number of bins that is out of range, or for which there are
    /// no hats.
    BinsLaw(const PrivacyUnit& unit, std::int32_t bins);

    /// The stream of a period: one level of hats, whose distance is about the root of twice the
    /// bins. A median is then placed within 4 % of the best hats, up to 1,024 bins, and a bin has
    /// twice the stddev of noise by itself; two levels would add half of that to each bin.
    [[nodiscard]] Request totals() const;

    friend bool operator==(const BinsLaw&, const BinsLaw&) = default;
};

} // namespace dp_counter
