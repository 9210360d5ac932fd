// The interval of a share A / (A + B), from releases of A and B. An average is a share, scaled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/accuracy/characteristic_function.hpp"
#include "core/base/checked.hpp"

namespace dp_counter {

/// Where the quantiles below are computed: at p = node / kShareCells. Between the nodes they are
/// interpolated linearly.
inline constexpr int kShareCells = 16;

/// Quantiles of abs((1 - p) N_A - p N_B), N_A and N_B the independent noises of two releases of one
/// law. They are the same at p and at 1 - p.
///
/// They are too large rather than too small: by 1/128 of the standard deviation of (1 - p) N_A - p
/// N_B or 1/16, whichever is more; by 1e-5 in probability; and for what (1 - p) R_A - p R_B, with
/// the roundings R, can be at the worst p: 1/2 a rounding at p = 0 and where the noise is coarse or
/// narrow, and else 1/4. Whole noise, which is not rounded, gets 1/4 for its lattice. At 95 % that
/// makes the confidence 95.1 % and up to 0.06 / stddev more for each rounding.
class ShareQuantiles {
public:
    /// `noise` is that of either release. Throws Error (parameter) as NoiseDistribution::half_width
    /// does.
    ShareQuantiles(const NoiseSum& noise, double confidence);

    /// At a node, 0 .. kShareCells / 2. Positive; as little as a double can be where there is no
    /// noise. Takes 5 to 100 microseconds.
    [[nodiscard]] double at(int node) const;

private:
    CharacteristicFunction phi_;
    double confidence_;
    double most_slack_; ///< at node 0
    double slack_;
    bool is_exact_; ///< no noise, with the confidence
};

/// The value at numerator / denominator of the way from `lower` to `upper`, above it.
[[nodiscard]] inline double value_between(std::int64_t lower, std::int64_t upper,
                                          long double numerator, long double denominator = 1) {
    const auto width = static_cast<long double>(saturated(int128{upper} - lower));
    return static_cast<double>(static_cast<long double>(lower) + width * numerator / denominator);
}

/// The average of values between `lower` and `upper`, from the sums of value - lower and of upper -
/// value; none where these together are not positive.
[[nodiscard]] inline std::optional<double> average(std::int64_t above, std::int64_t below,
                                                   std::int64_t lower, std::int64_t upper) {
    const int128 total = int128{above} + below;
    if (total <= 0)
        return {};
    return value_between(lower, upper,
                         static_cast<long double>(std::clamp(int128{above}, int128{0}, total)),
                         static_cast<long double>(total));
}

/// A part of 0 .. 1.
struct ShareInterval {
    double low;
    double high;
};

/// Where the true A / (A + B) lies, with the confidence of the quantiles: from the least to the
/// greatest p for which abs((1 - p) A - p B) is at most its quantile. That is a test of each p
/// inverted: it holds the truth as often as it says, whatever A and B. All of 0 .. 1 where A + B is
/// not positive: then the releases say nothing. Where no p passes, one release is below 0 by more
/// than its noise, and is taken as 0.
///
/// Asks quantile(node) for ShareQuantiles::at at the nodes that matter: 0, and those around both
/// ends, mostly two more. A chord between two nodes is not below the quantile, and at most 0.2 %
/// above it: for independent X and Y of one symmetric log-concave law the quantile of abs(u X + v
/// Y) is a norm of (u, v) (Bobkov 2010), so it is convex in p. Noise on a lattice keeps to that but
/// for less than what the quantiles are too large by.
template <class Quantile>
[[nodiscard]] ShareInterval share_interval(std::int64_t a, std::int64_t b, Quantile&& quantile) {
    const int128 total = int128{a} + b;
    if (total <= 0)
        return {0, 1};
    const double widest = quantile(0);
    const auto in_cell = [&](int cell) -> ShareInterval { // empty: high below low
        // abs((1 - p) a - p b) at both ends, with its sign
        const auto at = [&](int node) {
            return static_cast<double>(kShareCells * int128{a} - node * total) / kShareCells;
        };
        const double left = at(cell);
        const double right = at(cell + 1);
        if (right > widest || left < -widest) // no quantile is more than the one at 0
            return {1, 0};
        const auto quantile_at = [&](int node) {
            return quantile(node <= kShareCells / 2 ? node : kShareCells - node);
        };
        const double left_quantile = quantile_at(cell);
        const double right_quantile = quantile_at(cell + 1);
        double from = 0; // in the cell, 0 .. 1
        double to = 1;
        const auto keep = [&](double first, double last) { // where the line is at most 0
            if (first > 0 && last > 0)
                to = -1;
            else if (first > 0)
                from = std::max(from, first / (first - last));
            else if (last > 0)
                to = std::min(to, first / (first - last));
        };
        keep(left - left_quantile, right - right_quantile);
        keep(-left - left_quantile, -right - right_quantile);
        return {(cell + from) / kShareCells, (cell + to) / kShareCells};
    };
    // The ends alone matter, and quantiles in between need not be known.
    for (int first = 0; first < kShareCells; ++first) {
        const ShareInterval low = in_cell(first);
        if (low.low > low.high)
            continue;
        for (int last = kShareCells - 1;; --last) {
            const ShareInterval high = in_cell(last);
            if (high.low <= high.high)
                return {low.low, high.high};
        }
    }
    // One of them is below 0 by more than its noise.
    return share_interval(std::max<std::int64_t>(a, 0), std::max<std::int64_t>(b, 0), quantile);
}

} // namespace dp_counter
