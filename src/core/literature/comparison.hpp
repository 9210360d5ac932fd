// All mechanisms side by side, with their errors known before a row is read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/literature/gaussian_noise.hpp"
#include "core/literature/honaker.hpp"

namespace dp_counter {

enum class Guarantee : std::uint8_t {
    pure,        ///< epsilon
    approximate, ///< (epsilon, delta)
};

/// One mechanism in a comparison.
struct Compared {
    const char* mechanism;
    std::optional<std::int32_t> radix; ///< k, where there is one
    Guarantee guarantee;
    double mse;
    std::optional<double> max_variance; ///< none where only the MSE is known
};

/// The mechanisms of this extension and those of the literature, least MSE first. The pure ones
/// have discrete noise and exact errors. With a delta the Gaussian ones are added; the classic
/// formulas only where they keep (epsilon, delta) (gaussian_is_private), the normalized
/// factorization only where a unit contributes to one step. The Henzinger-Upadhyay-Upadhyay row is
/// the bound that they prove, not an exact error. One protected unit changes at most the
/// sensitivity in l1, and no step by more than the sensitivity over `contributions`: Laplace noise
/// follows from the former alone, Gaussian noise from the l2 sensitivity, whose worst case are the
/// first steps next to each other. Throws Error (parameter) for a horizon, a unit or contributions
/// out of range.
[[nodiscard]] std::vector<Compared> compare(std::int64_t horizon, PrivacyUnit unit,
                                            const std::optional<Delta>& delta,
                                            std::int64_t contributions = 1);

/// The least MSE among subtraction with an even k.
[[nodiscard]] Compared best_even_subtraction(std::int64_t horizon, PrivacyUnit unit);

/// Noise in every step and a cumulative sum over it.
[[nodiscard]] ErrorSummary noise_per_step(std::int64_t horizon, PrivacyUnit unit) noexcept;

/// C^2 (1 + ln(4T/5)/pi)^2 with C = henzinger_gaussian_stddev, for sensitivity 1.
[[nodiscard]] double henzinger_bound(std::int64_t horizon, Epsilon epsilon, Delta delta) noexcept;

/// The square-root factorization with Gaussian noise of this standard deviation per unit of l2
/// sensitivity, where as many steps as there are contributions change by 1 each.
[[nodiscard]] ErrorSummary square_root_error(std::int64_t horizon, double stddev,
                                             std::int64_t contributions = 1) noexcept;

} // namespace dp_counter
