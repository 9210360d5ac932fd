// The distribution of the noise in a release: a weighted sum of discrete Laplace variables, rounded
// to an integer. Quantiles from the distribution itself: no normal approximation, no tail bound.
#pragma once

#include <cstdint>

#include "core/accuracy/characteristic_function.hpp"

namespace dp_counter {

/// Throws Error (parameter) unless 0 < confidence <= NoiseDistribution::kMaxConfidence.
void check_confidence(double confidence);

/// The noise N of a release, floor(S + 1/2), or of the difference of two, floor(A + 1/2) - floor(B
/// + 1/2) with S = A - B, or of a sum of differences. N of a difference is off S by less than 1,
/// and an event of S stands for one of N: abs(S) <= width implies abs(N) <= width, which implies
/// abs(S) < width + 1. So widths are right, and for each difference at most 1 more than needed.
class NoiseDistribution {
public:
    static constexpr double kMaxConfidence = 1 - 1e-9;

    explicit NoiseDistribution(const NoiseSum& sum) : phi_(sum), roundings_(sum.roundings) {}

    /// Variance of S (rounding adds at most 1/4 to that of N, mostly 1/12, nothing for integers).
    [[nodiscard]] double variance() const noexcept { return phi_.variance(); }

    /// Encloses P(|N| <= width), or P(|S| <= width) of a difference. high - low is at most 3
    /// tolerances, unless S has mass so close to width + 1/2 that 0.1 seconds do not suffice to
    /// decide on which side: where the weights are simple fractions but for their last bits, on a
    /// lattice finer than about 2^-17.
    struct Enclosure {
        double low;
        double high;
    };
    [[nodiscard]] Enclosure probability_within(std::int64_t width, double tolerance = 1e-9) const;

    /// The least width for which that is >= confidence. The probability is computed with an
    /// error of at most 1e-6, or (1 - confidence)/10 if that is less; in the exceptional case
    /// above the width is rounded up: the confidence is kept. Takes 2 to 40 microseconds for most
    /// sums, 0.1 seconds at worst.
    /// Throws Error (parameter) unless 0 < confidence <= kMaxConfidence.
    [[nodiscard]] std::int64_t half_width(double confidence) const;

private:
    [[nodiscard]] std::int64_t half_width_of_first(double confidence) const;

    CharacteristicFunction phi_;
    int128 roundings_;
};

} // namespace dp_counter
