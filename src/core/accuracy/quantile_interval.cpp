#include "core/accuracy/quantile_interval.hpp"

#include <algorithm>
#include <cmath>

#include "core/accuracy/average_interval.hpp"
#include "core/accuracy/isotonic_regression.hpp"
#include "core/accuracy/noise_distribution.hpp"
#include "core/base/checkpoint.hpp"

namespace dp_counter {

HistogramSums::HistogramSums(std::span<const int128> counts) {
    sums_.reserve(counts.size());
    std::vector<IsotonicBlock> path(counts.size(), IsotonicBlock::of(0));
    std::size_t blocks = 0;
    int128 sum = 0;
    for (const int128 count : counts) {
        sums_.push_back(sum += count);
        blocks = extend_isotonic_path(path.data(), blocks, saturated(sum));
    }
    path_.reserve(counts.size());
    for (std::size_t i = 0; i < blocks; ++i)
        path_.insert(path_.end(), static_cast<std::size_t>(path[i].count()), path[i].mean());
}

std::optional<double> HistogramSums::place(const Fraction& p) const {
    if (total() <= 0)
        return {};
    const double wanted = static_cast<double>(total()) * p.numerator / p.denominator;
    const auto reached = std::lower_bound(path_.begin(), path_.end(), wanted);
    if (reached == path_.end())
        return static_cast<double>(bins() - 1);
    const double before = reached == path_.begin() ? 0 : *(reached - 1);
    return static_cast<double>(reached - path_.begin()) + (wanted - before) / (*reached - before);
}

QuantileTest::QuantileTest(const BinsNoise& noise, std::int32_t bins, const Fraction& p,
                           double confidence)
    : noise_(noise), p_(p), confidence_(confidence), quantiles_(static_cast<std::size_t>(bins) - 1),
      bounds_(quantiles_.size()) {
    check_confidence(confidence);
}

NoiseSum QuantileTest::noise(std::int32_t bin) const {
    const auto bins = static_cast<std::int32_t>(quantiles_.size()) + 1;
    if (const auto* scale = std::get_if<LaplaceScale>(&noise_.each))
        return {{{p_.denominator - p_.numerator, *scale, int128{noise_.lag} * (bin + 1)},
                 {p_.numerator, *scale, int128{noise_.lag} * (bins - bin - 1)}}};
    const ReleaseError& totals = *std::get<const ReleaseError*>(noise_.each);
    return times(totals.noise_at(bins, bin + 1, p_.denominator, p_.numerator), noise_.lag);
}

std::int64_t QuantileTest::rounding() const {
    if (std::holds_alternative<LaplaceScale>(noise_.each))
        return 0;
    return (noise_.lag * (p_.denominator + p_.numerator) + 1) / 2; // two totals, by 1/2 each
}

std::int64_t QuantileTest::quantile(std::int32_t bin) {
    std::int64_t& known = quantiles_[static_cast<std::size_t>(bin)];
    if (known == 0) // the least integer above all that are within
        known = NoiseDistribution(noise(bin)).half_width(confidence_) + 1 + rounding();
    return known;
}

bool QuantileTest::is_within(std::int32_t bin, int128 excess) {
    if (excess <= 1) // no q is less
        return true;
    double& bound = bounds_[static_cast<std::size_t>(bin)];
    if (bound == 0)
        bound = CharacteristicFunction(noise(bin)).tail_radius(1 - confidence_) + 3 +
                static_cast<double>(rounding());
    return static_cast<double>(excess) <= bound && excess <= quantile(bin);
}

BinRange QuantileTest::range(const HistogramSums& sums) {
    BinRange range{0, sums.bins() - 1};
    while (range.first < sums.bins() - 1 && !is_within(range.first, -sums.excess(range.first, p_)))
        ++range.first;
    while (range.last > 0 && !is_within(range.last - 1, sums.excess(range.last - 1, p_) + 1))
        --range.last;
    return range;
}

namespace {

constexpr Fraction kMedian{1, 2}; // an excess is twice the rank's error

double median_variance(const QuantileTest& test, std::int32_t bin) {
    return CharacteristicFunction(test.noise(bin)).variance() / 4;
}

} // namespace

std::int32_t widest_bin(const BinsNoise& noise, std::int32_t bins) {
    const QuantileTest test(noise, bins, kMedian, 0.5);
    std::int32_t widest = 0;
    double greatest = median_variance(test, 0);
    for (std::int32_t bin = 1; bin < bins - 1; ++bin) {
        checkpoint();
        if (const double here = median_variance(test, bin); here > greatest) {
            widest = bin;
            greatest = here;
        }
    }
    return widest;
}

RankError median_error(const BinsNoise& noise, std::int32_t bins, std::int32_t bin,
                       double confidence) {
    QuantileTest test(noise, bins, kMedian, confidence);
    return {std::sqrt(median_variance(test, bin)), test.quantile(bin) / 2};
}

HistogramQuantile quantile_of(const HistogramSums& sums, std::span<const std::int64_t> ends,
                              QuantileTest& test) {
    const BinRange range = test.range(sums);
    const auto end = [&](std::int32_t bin) { return ends[static_cast<std::size_t>(bin)]; };
    HistogramQuantile result;
    if (range.first > 0)
        result.low = end(range.first);
    if (range.last < sums.bins() - 1)
        result.high = end(range.last + 1);
    if (const auto place = sums.place(test.fraction()); place && (result.low || result.high)) {
        const auto bin = static_cast<std::int32_t>(std::min(*place, sums.bins() - 1.0));
        const double value =
            bin == sums.bins() - 1
                ? static_cast<double>(end(bin))
                : value_between(end(bin), end(bin + 1), static_cast<long double>(*place - bin));
        const auto low = static_cast<double>(result.low.value_or(ends.front()));
        result.value =
            std::clamp(value, low, static_cast<double>(result.high.value_or(ends.back())));
    }
    return result;
}

} // namespace dp_counter
