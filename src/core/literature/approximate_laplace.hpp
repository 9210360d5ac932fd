// Laplace noise under approximate differential privacy: the paper's Theorem "laplace_both".
#pragma once

#include "core/literature/gaussian_noise.hpp"

namespace dp_counter {

/// How far one neighbor's vector of values can be from the other's.
struct Sensitivities {
    double l1;
    double l2; ///< at most l1

    /// Throws Error (parameter) unless 0 < l2 <= l1 and both are finite.
    void check() const;
};

/// The epsilon that Laplace noise of this scale on every value gives with this delta:
/// min{ l1/scale, (l2/scale)(l2/(2 scale) + sqrt(2 ln(1/delta))) }. The second branch is proved
/// for scales above l1 only; below, it is left out. Throws Error (parameter).
[[nodiscard]] double approximate_laplace_epsilon(double scale, Delta delta,
                                                 const Sensitivities& sensitivities);

/// The least scale for which approximate_laplace_epsilon is at most epsilon. Throws Error
/// (parameter).
[[nodiscard]] double approximate_laplace_scale(Epsilon epsilon, Delta delta,
                                               const Sensitivities& sensitivities);

} // namespace dp_counter
