// The square-root factorization of the prefix sums (Fichtenberger, Henzinger, Upadhyay 2023), and
// the normalized one, the best that is known for Gaussian noise (Henzinger, Kalinin, Upadhyay,
// arXiv 2509.14334).
#pragma once

#include <cstdint>

namespace dp_counter {

/// A = M M with the Toeplitz matrix M of f(n) = C(2n, n) / 4^n. With S(t) = sum of f(n)^2 over
/// n < t: the l2 sensitivity of M x is sqrt(S(T)), and noise of variance v per coordinate gives the
/// release at t the variance v S(t).
struct SquareRootNorms {
    double last; ///< S(T)
    double mean; ///< mean of S(t) over t = 1..T
};

/// The square of the l2 norm of M (x - x') where the first `columns` steps differ by 1 each, at
/// most T: no other steps of this number make a greater difference, since M's entries are positive
/// and fall along a column. The relative error is below 1e-8.
[[nodiscard]] double first_columns_norm(std::int64_t horizon, std::int64_t columns) noexcept;

/// Up to T = 4096 by summation, above by Euler-Maclaurin: the relative error is below 1e-12.
[[nodiscard]] SquareRootNorms square_root_norms(std::int64_t horizon) noexcept;

/// A = L R with R = M D, D diagonal, whose columns have length 1, and L = A R^-1: what noise of
/// variance 1 per coordinate, for one step that changes by 1, has as mean squared error. The
/// relative error is below 2e-4, and below 1e-12 up to T = 256.
[[nodiscard]] double normalized_square_root_mean(std::int64_t horizon) noexcept;

} // namespace dp_counter
