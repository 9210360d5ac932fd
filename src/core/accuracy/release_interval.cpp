#include "core/accuracy/release_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/accuracy/noise_distribution.hpp"
#include "core/base/checked.hpp"

namespace dp_counter {

namespace {

constexpr double kQuantile = 1.959963984540054; // 97.5 % of the standard normal distribution

std::int64_t normal_width(double stddev) noexcept {
    return static_cast<std::int64_t>(std::min(std::ceil(kQuantile * stddev), 0x1p62));
}

} // namespace

bool is_planned(StreamError& errors, const CounterRelease& release) {
    const double variance = release.stddev * release.stddev;
    const double planned = errors.variance_at(release.step);
    return std::abs(planned - variance) <= 0.5 + 1e-3 * variance; // but for rounding
}

ShareInterval normal_share(const CounterRelease& above, const CounterRelease& below) {
    return share_interval(above.count, below.count, [&](int node) {
        const double p = static_cast<double>(node) / kShareCells;
        return kQuantile * std::max(above.stddev, below.stddev) * std::hypot(1 - p, p);
    });
}

std::int64_t release_width(StreamError& errors, const CounterRelease& release) {
    if (!is_planned(errors, release))
        return normal_width(release.stddev);
    return NoiseDistribution(errors.noise_at(release.step)).half_width(kReleaseConfidence);
}

ReleaseInterval clamped_interval(std::int64_t release, std::int64_t width,
                                 std::int64_t least) noexcept {
    constexpr int128 kMost = std::numeric_limits<std::int64_t>::max();
    const auto clamp = [=](int128 bound) {
        return static_cast<std::int64_t>(std::clamp<int128>(bound, least, kMost));
    };
    return {clamp(static_cast<int128>(release) - width),
            clamp(static_cast<int128>(release) + width)};
}

} // namespace dp_counter
