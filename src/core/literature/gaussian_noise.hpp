// How much Gaussian noise approximate differential privacy needs: what Laplace noise is compared
// with. Nothing here is released, so double precision suffices.
#pragma once

#include "core/base/epsilon.hpp"

namespace dp_counter {

/// A delta in [1e-300, 1): the probability with which the guarantee of epsilon may fail.
class Delta {
public:
    static constexpr double kMin = 1e-300;

    /// Throws Error (parameter) for other values.
    explicit Delta(double value);

    [[nodiscard]] double value() const noexcept { return value_; }

private:
    double value_;
};

/// The least delta for which Gaussian noise of this standard deviation, added to values of l2
/// sensitivity 1, is (epsilon, delta)-private: with a = 1/(2 stddev) and b = epsilon stddev,
/// Phi(a - b) - e^epsilon Phi(-a - b) (Balle, Wang 2018, Theorem 8). As its logarithm, which is
/// good to 1e-9 however small delta is.
[[nodiscard]] double log_gaussian_delta(double stddev, Epsilon epsilon) noexcept;

/// The least standard deviation that is (epsilon, delta)-private for l2 sensitivity 1, to a
/// relative error of 1e-9: the analytic Gaussian mechanism of Balle and Wang.
[[nodiscard]] double analytic_gaussian_stddev(Epsilon epsilon, Delta delta) noexcept;

/// The textbook's sqrt(2 ln(1.25/delta)) / epsilon for l2 sensitivity 1 (Dwork, Roth 2014, Theorem
/// A.1). It is proved for epsilon below 1.
[[nodiscard]] double classic_gaussian_stddev(Epsilon epsilon, Delta delta) noexcept;

/// C_{epsilon, delta} = (2/epsilon) sqrt(4/9 + ln(sqrt(2/pi)/delta)), the standard deviation for l2
/// sensitivity 1 in Henzinger, Upadhyay, Upadhyay 2023.
[[nodiscard]] double henzinger_gaussian_stddev(Epsilon epsilon, Delta delta) noexcept;

/// Whether noise of this standard deviation keeps (epsilon, delta) for l2 sensitivity 1. Formulas
/// that are proved for small epsilon fail it where epsilon is large.
[[nodiscard]] bool gaussian_is_private(double stddev, Epsilon epsilon, Delta delta) noexcept;

} // namespace dp_counter
