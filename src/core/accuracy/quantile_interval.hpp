// Quantiles of a histogram, from noisy counts of its bins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/accuracy/noise_sum.hpp"
#include "core/accuracy/release_error.hpp"
#include "core/base/checked.hpp"

namespace dp_counter {

/// A part of all, between 0 and 1: neither of them.
struct Fraction {
    std::int32_t numerator; ///< at most 999
    std::int32_t denominator;
};

/// Bins, numbered from 0.
struct BinRange {
    std::int32_t first;
    std::int32_t last;
};

/// The counts of a histogram added up along its bins.
class HistogramSums {
public:
    /// At least one count, each below 2^90: what follows is exact in 128 bits.
    explicit HistogramSums(std::span<const int128> counts);

    [[nodiscard]] std::int32_t bins() const { return static_cast<std::int32_t>(sums_.size()); }
    [[nodiscard]] int128 total() const { return sums_.back(); }

    /// denominator * ((1 - p) S - p (total - S)), S the sum up to and with the bin.
    [[nodiscard]] int128 excess(std::int32_t bin, const Fraction& p) const {
        return p.denominator * sums_[static_cast<std::size_t>(bin)] - p.numerator * total();
    }

    /// Where the sums reach this part of the total: bin + part of the bin, linear inside it. The
    /// path is the nearest one to the sums that does not fall. None unless the total is positive.
    [[nodiscard]] std::optional<double> place(const Fraction& p) const;

private:
    std::vector<int128> sums_;
    std::vector<double> path_;
};

/// The noise of the counts of `lag` periods: of each bin by itself, or of totals along them, which
/// are hats with as many steps as there are bins.
struct BinsNoise {
    std::variant<LaplaceScale, const ReleaseError*> each;
    std::int64_t lag;
};

/// Where a quantile is, by inversion of two tests at half of the risk each. Of the true counts it
/// is the first bin j where excess(j) >= 0, or the last bin: percentile_disc over bins. X_j, the
/// noise of excess(j), is symmetric: q_j is the least integer with P(abs(X_j) >= q_j) <= risk.
///
///     first  the least j with excess(j) >= -q_j, or the last bin
///     last   the greatest j with excess(j - 1) < q_(j - 1), or bin 0
///
/// The true j is fixed by the data, whatever they are. It lies before `first` only if the excess of
/// j itself, which is not negative, has got a noise below -q_j; after `last` only if that of j - 1,
/// which is negative, has got one above q_(j - 1): risk / 2 each, without a union over bins. And
/// first <= last, since `first` passes the second test too.
class QuantileTest {
public:
    /// At least 2 bins. Throws Error (parameter) as NoiseDistribution::half_width does.
    QuantileTest(const BinsNoise& noise, std::int32_t bins, const Fraction& p, double confidence);

    [[nodiscard]] const Fraction& fraction() const { return p_; }

    /// The bins between which the quantile is, with the confidence.
    [[nodiscard]] BinRange range(const HistogramSums& sums);

    /// q_j, as far as NoiseDistribution::half_width is exact; else the confidence is kept. Of
    /// totals it is greater by what rounding can change. It is remembered, and takes 3 to 40
    /// microseconds the first time, some milliseconds for p in thousandths. Not for the last bin.
    [[nodiscard]] std::int64_t quantile(std::int32_t bin);

    /// The noise of the bin's excess, without what rounding changes.
    [[nodiscard]] NoiseSum noise(std::int32_t bin) const;

private:
    /// By how much rounding changes an excess, at most, rounded up.
    [[nodiscard]] std::int64_t rounding() const;
    /// excess <= q_j. Most bins are far from that, which a bound of q_j shows.
    [[nodiscard]] bool is_within(std::int32_t bin, int128 excess);

    BinsNoise noise_;
    Fraction p_;
    double confidence_;
    std::vector<std::int64_t> quantiles_; ///< 0 where not computed
    std::vector<double> bounds_;          ///< not below them; 0 where not computed
};

/// By how many events a quantile is off.
struct RankError {
    double stddev;
    std::int64_t half_width;
};

/// The bin where a median is off by most, whatever the lag; of noise for each bin by itself the
/// first one, as it is the same in all. At least 2 bins.
[[nodiscard]] std::int32_t widest_bin(const BinsNoise& noise, std::int32_t bins);

/// That of a median in this bin, not the last one. Throws Error (parameter) as QuantileTest does.
[[nodiscard]] RankError median_error(const BinsNoise& noise, std::int32_t bins, std::int32_t bin,
                                     double confidence);

/// A quantile in the values of the bins.
struct HistogramQuantile {
    std::optional<double> value;      ///< none where both ends are none
    std::optional<std::int64_t> low;  ///< the lower end of the interval's first bin, none of bin 0
    std::optional<std::int64_t> high; ///< the upper end of its last bin, none of the last one
};

/// `ends` are the lower ends of the bins. The value lies in the interval.
[[nodiscard]] HistogramQuantile quantile_of(const HistogramSums& sums,
                                            std::span<const std::int64_t> ends, QuantileTest& test);

} // namespace dp_counter
