// The parameter of a discrete Laplace distribution.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/checked.hpp"
#include "core/base/epsilon.hpp"

namespace dp_counter {

/// Noise for a vector of counts whose l1 sensitivity is `sensitivity`, released under `epsilon`:
/// P(z) proportional to exp(-|z| epsilon * divisor / sensitivity) on the integers. The scale
/// sensitivity / (divisor * epsilon) is a rational number and is kept as one.
struct LaplaceScale {
    Epsilon epsilon;
    uint128 sensitivity;       ///< at least 1
    std::uint32_t divisor = 1; ///< at least 1; more where the share of a fading node needs it

    /// The scale, rounded: for reports and for sizing, never for sampling.
    [[nodiscard]] double value() const noexcept {
        return static_cast<double>(sensitivity) / (divisor * epsilon.value());
    }

    /// The variance 2q/(1-q)^2, q = exp(-1/scale), in double precision: for reports.
    [[nodiscard]] double variance() const noexcept {
        const double s = std::sinh(0.5 / value()); // 2q/(1-q)^2 = 1 / (2 sinh(x/2)^2), x = 1/scale
        return 0.5 / (s * s);
    }

    friend bool operator==(const LaplaceScale&, const LaplaceScale&) = default;
};

} // namespace dp_counter
