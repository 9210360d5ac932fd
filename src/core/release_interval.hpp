// The error bar of a release.
#pragma once

#include <cstdint>

namespace dp_counter {

/// Bounds between which the true count lies with 95 % probability.
struct ReleaseInterval {
    std::int64_t low;  ///< at least 0: a count is not negative
    std::int64_t high; ///< at least 0
};

/// From the standard deviation of the release's noise alone, by the normal approximation, rounded
/// outwards.
[[nodiscard]] ReleaseInterval release_interval(std::int64_t release, double stddev) noexcept;

} // namespace dp_counter
