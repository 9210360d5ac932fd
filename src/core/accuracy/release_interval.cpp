#include "core/accuracy/release_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/checked.hpp"

namespace dp_counter {

namespace {

constexpr double kConfidence = 0.95;

std::int64_t normal_width(double stddev) noexcept {
    constexpr double kQuantile = 1.959963984540054; // 97.5 % of the standard normal distribution
    return static_cast<std::int64_t>(std::min(std::ceil(kQuantile * stddev), 0x1p62));
}

} // namespace

std::int64_t release_width(StreamError& errors, const CounterRelease& release) {
    const double variance = release.stddev * release.stddev;
    const double planned = errors.variance_at(release.step);
    const bool is_ours = std::abs(planned - variance) <= 0.5 + 1e-3 * variance; // but for rounding
    return is_ours ? errors.half_width(release.step, kConfidence) : normal_width(release.stddev);
}

ReleaseInterval clamped_interval(std::int64_t release, std::int64_t width) noexcept {
    constexpr int128 kMost = std::numeric_limits<std::int64_t>::max();
    const auto clamp = [=](int128 bound) {
        return static_cast<std::int64_t>(std::clamp<int128>(bound, 0, kMost));
    };
    return {clamp(static_cast<int128>(release) - width),
            clamp(static_cast<int128>(release) + width)};
}

} // namespace dp_counter
