// The noise of a release before it is rounded. Hats weigh whole noise values with binary fractions,
// so it is a whole number of small units; it is rounded once, in the release.
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"

namespace dp_counter {

/// A sum of weighted noise, in units of 2^-64.
using FixedPoint = int128;

[[nodiscard]] constexpr FixedPoint fixed_point(std::int64_t whole) noexcept {
    return static_cast<FixedPoint>(whole) << 64;
}

/// The nearest integer, halves upwards: floor(x + 1/2). Throws Error (overflow) at the upper end:
/// that depends on noise alone and, with the largest scale that there is, has a probability below
/// exp(-140).
[[nodiscard]] inline std::int64_t rounded(FixedPoint noise) {
    return static_cast<std::int64_t>(checked_add(noise, FixedPoint{1} << 63) >> 64);
}

/// What rounding adds to the variance of noise with fractions in it that is spread over several
/// integers. Where epsilon is so large that most releases have no noise at all, it is less.
inline constexpr double kRoundingVariance = 1.0 / 12;

} // namespace dp_counter
