// The distribution of the noise in a release: a weighted sum of discrete Laplace variables, rounded
// to an integer. Quantiles from the distribution itself: no normal approximation, no tail bound.
#pragma once

#include <cstdint>

#include "core/characteristic_function.hpp"

namespace dp_counter {

/// N = floor(S + 1/2), the noise of a release.
class WeightedLaplace {
public:
    static constexpr double kMaxConfidence = 1 - 1e-9;

    explicit WeightedLaplace(const NoiseSum& sum) : phi_(sum) {}

    /// Variance of S (rounding adds at most 1/4 to that of N, mostly 1/12, nothing for integers).
    [[nodiscard]] double variance() const noexcept { return phi_.variance(); }

    /// Encloses P(|N| <= width). high - low is at most 3 tolerances, unless S puts mass so close to
    /// width + 1/2 that it cannot be told in 0.1 seconds on which side: where the weights are
    /// simple fractions but for their last bits, on a lattice finer than about 2^-17.
    struct Enclosure {
        double low;
        double high;
    };
    [[nodiscard]] Enclosure probability_within(std::int64_t width, double tolerance = 1e-9) const;

    /// The least width with P(|N| <= width) >= confidence. The probability is computed with an
    /// error of at most 1e-6, or (1 - confidence)/10 if that is less; in the exceptional case
    /// above the width is rounded up: the confidence is kept. Takes 2 to 40 microseconds for most
    /// sums, 0.1 seconds at worst.
    /// Throws Error (parameter) unless 0 < confidence <= kMaxConfidence.
    [[nodiscard]] std::int64_t half_width(double confidence) const;

private:
    CharacteristicFunction phi_;
};

} // namespace dp_counter
