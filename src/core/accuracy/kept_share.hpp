// Which share of all events a bound keeps, from released numbers.
#pragma once

#include <span>

namespace dp_counter {

/// A released number of units or events, with discrete Laplace noise of its own. Of each that it
/// counts there are `all` events, of which the bound keeps `kept`.
struct ReleasedPart {
    double released;
    double kept; ///< 0 .. all
    double all;
};

/// From 0 to 1. Trivial.
struct KeptShare {
    double share; ///< NaN where the numbers are too small to tell
    double low, high;
};

/// The estimate, and an interval that holds the true share with a probability of 95 % or more, by
/// inversion of a test (Fieller 1954): the shares p at which sum((kept - p all) released) is not
/// farther from 0 than its noise reaches. That is taken to reach as far as one Laplace variable of
/// the same variance: a sum of several reaches less far. Where they are all shares or none, 0 to 1.
/// `scale` is that of the noise of each number.
[[nodiscard]] KeptShare kept_share(std::span<const ReleasedPart> parts, double scale) noexcept;

} // namespace dp_counter
