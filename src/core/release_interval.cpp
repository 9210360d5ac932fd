#include "core/release_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"

namespace dp_counter {

ReleaseInterval release_interval(std::int64_t release, double stddev) noexcept {
    constexpr double kQuantile = 1.959963984540054; // 97.5 % of the standard normal distribution
    constexpr double kNegligible = 1e-6;            // error bars of huge epsilons are exactly 0
    constexpr int128 kMost = std::numeric_limits<std::int64_t>::max();
    const double exact = kQuantile * stddev;
    const double reach = exact < kNegligible ? 0 : std::min(std::ceil(exact), 0x1p100);
    const auto distance = static_cast<int128>(reach);
    const auto clamp = [=](int128 bound) {
        return static_cast<std::int64_t>(std::clamp<int128>(bound, 0, kMost));
    };
    return {clamp(release - distance), clamp(release + distance)};
}

} // namespace dp_counter
