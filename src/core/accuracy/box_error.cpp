#include "core/accuracy/box_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/accuracy/box_sum.hpp"
#include "core/accuracy/inversion.hpp"
#include "core/accuracy/least_width.hpp"
#include "core/accuracy/noise_distribution.hpp"
#include "core/base/limits.hpp"

namespace dp_counter {

namespace {

/// How the steps since + 1 .. t lie in blocks.
std::vector<BoxPart> parts_of(std::int64_t size, std::int64_t since, std::int64_t t) {
    std::vector<BoxPart> parts;
    const auto add = [&](std::int64_t steps, std::int64_t blocks) {
        if (steps > 0 && blocks > 0)
            parts.push_back({static_cast<int>(steps), static_cast<double>(blocks)});
    };
    const std::int64_t first = std::min(t - since, size - 1 - (since + size - 1) % size);
    const std::int64_t rest = t - since - first;
    add(first, 1);
    add(size, rest / size);
    add(rest % size, 1);
    return parts;
}

/// At most about so many radii are computed with, and so many blocks, whose sum is normal.
constexpr double kRadii = 1024;
constexpr std::int64_t kBlocks = 1'000'000;

/// The rate of a law with so many: its radii reach to about size + 10 sqrt(size) + 45 over it.
double least_rate(double size) {
    return (size + 10 * std::sqrt(size) + 45) / kRadii;
}

} // namespace

BoxError::BoxError(const BoxLaw& law) : law_(law) {
    law.unit.require_scale(1);
}

double BoxError::variance_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    return law_.variance() * static_cast<double>(t - since);
}

std::int64_t BoxError::half_width(std::int64_t t, double confidence, std::int64_t since) const {
    check_confidence(confidence);
    const double variance = variance_at(t, since);
    if (t == since)
        return 0;
    const double rate = 1 / law_.scale().value();
    const double computed = std::max(rate, least_rate(law_.size));
    const bool is_normal = (t - since) / law_.size > kBlocks;
    const BoxSum sum(law_.size, computed,
                     is_normal ? parts_of(law_.size, 0, kBlocks * law_.size)
                               : parts_of(law_.size, since, t));
    if (sum.groups() == 1) // no noise
        return 0;
    const double tolerance = std::min(1e-7, (1 - confidence) / 100);
    const auto most = static_cast<std::int64_t>(std::ceil(sum.tail_radius(1 - confidence))) + 1;
    const auto inversion = Inversion::lattice(
        sum, {static_cast<double>(most) + 1, tolerance, std::numeric_limits<std::int64_t>::max()});
    const auto within = [&](std::int64_t width) {
        return inversion.at(static_cast<double>(width) + 0.5);
    };
    const std::int64_t width = least_width(within, confidence, 2 * std::sqrt(sum.variance()), most);
    if (computed == rate && !is_normal)
        return width;
    // The distribution function is nearly a line from one width to the next.
    // That it is within half a width of 0 has half the probability of width 0.
    const double high = within(width).probability;
    const double low = width == 0 ? 0 : within(width - 1).probability;
    const double quantile =
        width == 0 ? 0.5 * confidence / high
                   : static_cast<double>(width) - 0.5 + (confidence - low) / (high - low);
    const double scaled = quantile * std::sqrt(variance / sum.variance());
    return static_cast<std::int64_t>(std::ceil(std::min(scaled - 0.5, 0x1p62)));
}

NoiseClass BoxError::noise_class(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    // No stream is as high (stream_error.cpp). The law depends on the place in the first block.
    return {law_.unit.epsilon.value(), law_.unit.sensitivity, law_.size, kMaxHeight + 2, t - since,
            since % law_.size};
}

} // namespace dp_counter
