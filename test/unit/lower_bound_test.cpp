#include "core/literature/lower_bound.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/limits.hpp"
#include "core/count/mechanism_spec.hpp"
#include "core/literature/comparison.hpp"

namespace dp_counter {
namespace {

const Epsilon kSmall(1e-6); ///< discrete noise is continuous noise
constexpr double kUnit = 1e-12;

double certified(std::int64_t horizon) {
    return laplace_lower_bound(horizon, kSmall) * kUnit;
}

using Matrix = std::vector<std::vector<double>>;

/// 2 D^2 |L|^2 / T for L = A inverse(R), D the greatest column norm of R.
double error_of(Matrix r) {
    const std::size_t n = r.size();
    double greatest = 0;
    for (std::size_t j = 0; j < n; ++j) {
        double column = 0;
        for (std::size_t i = 0; i < n; ++i)
            column += std::abs(r[i][j]);
        greatest = std::max(greatest, column);
    }
    Matrix inverse(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i)
        inverse[i][i] = 1;
    for (std::size_t k = 0; k < n; ++k) { // Gauss and Jordan
        std::size_t pivot = k;
        for (std::size_t i = k; i < n; ++i)
            if (std::abs(r[i][k]) > std::abs(r[pivot][k]))
                pivot = i;
        std::swap(r[k], r[pivot]);
        std::swap(inverse[k], inverse[pivot]);
        if (std::abs(r[k][k]) < 1e-9)
            return HUGE_VAL;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == k)
                continue;
            const double factor = r[i][k] / r[k][k];
            for (std::size_t j = 0; j < n; ++j) {
                r[i][j] -= factor * r[k][j];
                inverse[i][j] -= factor * inverse[k][j];
            }
        }
    }
    double square = 0;
    std::vector<double> row(n);
    for (std::size_t t = 0; t < n; ++t)
        for (std::size_t j = 0; j < n; ++j) {
            row[j] += inverse[t][j] / r[t][t];
            square += row[j] * row[j];
        }
    return 2 * greatest * greatest * square / static_cast<double>(n);
}

// Factorisations by the thousand, of any signs, and what a climb makes of them: none comes below.
TEST(LowerBound, NoFactorisationComesBelow) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (std::size_t n = 1; n <= 10; ++n) {
        double least = HUGE_VAL;
        for (int start = 0; start < 40; ++start) {
            Matrix best(n, std::vector<double>(n));
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    best[i][j] = start % 2 == 0 ? (i == j ? 1 : 0) : normal(random);
            double here = error_of(best);
            for (int step = 0; step < 400; ++step) {
                Matrix next = best;
                next[random() % n][random() % n] += normal(random) * std::pow(0.5, step / 50);
                const double there = error_of(next);
                if (there < here) {
                    here = there;
                    best = next;
                }
            }
            least = std::min(least, here);
        }
        EXPECT_GE(least, certified(static_cast<std::int64_t>(n))) << n;
        EXPECT_LT(certified(static_cast<std::int64_t>(n)), static_cast<double>(n) + 1) << n;
    }
}

TEST(LowerBound, NoMechanismComesBelow) {
    std::vector<std::int64_t> horizons;
    for (std::int64_t t = 1; t <= 2000; t += t < 64 ? 1 : 61)
        horizons.push_back(t);
    for (int bits = 11; bits <= 62; bits += 3)
        horizons.push_back(std::int64_t{1} << bits);
    for (const double epsilon : {1e-3, 1.0, 6.0, 30.0})
        for (const std::int64_t horizon : horizons)
            for (const std::int64_t sensitivity : {1, 7}) {
                const std::vector<Compared> rows =
                    compare(horizon, PrivacyUnit(Epsilon(epsilon), sensitivity), {});
                const double bound =
                    laplace_lower_bound(horizon, PrivacyUnit(Epsilon(epsilon), sensitivity));
                for (const Compared& row : rows)
                    EXPECT_GE(row.mse, bound * (1 - 1e-12))
                        << row.mechanism << " " << horizon << " " << epsilon;
            }
    // One step needs scale 1 / epsilon, and that is the bound.
    EXPECT_NEAR(certified(1), 2, 2e-5);
    EXPECT_NEAR(laplace_lower_bound(1, Epsilon(3)) / noise_per_step(1, Epsilon(3)).mse, 1, 1e-5);
}

// The design's reference program (oracles/lower_bound.py), which tries fewer n: up to 6 % lower.
TEST(LowerBound, IsThatOfTheReferenceProgram) {
    for (const auto& [horizon, mse] :
         {std::pair(24, 10.1), std::pair(64, 15.6), std::pair(256, 26.3), std::pair(365, 29.7),
          std::pair(1024, 39.6)}) {
        EXPECT_GT(certified(horizon), mse * 0.99) << horizon;
        EXPECT_LT(certified(horizon), mse * 1.06) << horizon;
    }
}

// Fewer steps are no harder, so the table is a bound between its entries only if it never falls.
TEST(LowerBound, NeverFalls) {
    double last = 0;
    for (double t = 1; t < 0x1p62; t = std::max(t + 1, t * 1.01)) {
        const double here = certified(static_cast<std::int64_t>(t));
        EXPECT_GE(here, last) << t;
        EXPECT_LT(here, std::max(last, 1.9) * 1.4) << t; // and has no gaps
        last = here;
    }
    EXPECT_GT(certified(kMaxHorizon), 4000);
}

double square(double x) {
    return x * x;
}

/// Eigenvalues of a symmetric matrix, rising, by Jacobi's rotations.
std::vector<double> eigenvalues(Matrix a) {
    const std::size_t n = a.size();
    for (int sweep = 0; sweep < 12; ++sweep)
        for (std::size_t p = 0; p < n; ++p)
            for (std::size_t q = p + 1; q < n; ++q) {
                if (std::abs(a[p][q]) < 1e-15)
                    continue;
                const double angle = 0.5 * std::atan2(2 * a[p][q], a[q][q] - a[p][p]);
                const double c = std::cos(angle);
                const double s = std::sin(angle);
                for (std::size_t k = 0; k < n; ++k) {
                    const double x = a[k][p];
                    a[k][p] = c * x - s * a[k][q];
                    a[k][q] = s * x + c * a[k][q];
                }
                for (std::size_t k = 0; k < n; ++k) {
                    const double x = a[p][k];
                    a[p][k] = c * x - s * a[q][k];
                    a[q][k] = s * x + c * a[q][k];
                }
            }
    std::vector<double> result(n);
    for (std::size_t i = 0; i < n; ++i)
        result[i] = a[i][i];
    std::sort(result.begin(), result.end());
    return result;
}

/// (2/T) (sum of (e_(n-1) - e_n)^(2/3))^3 for the greatest convex minorant of e.
double bound_from(const std::vector<double>& e) {
    const std::size_t last = e.size() - 1;
    double sum = 0;
    for (std::size_t at = 0; at < last;) { // the steepest way down that stays below
        std::size_t next = at + 1;
        double slope = HUGE_VAL;
        for (std::size_t n = at + 1; n <= last; ++n) {
            const double here = (e[n] - e[at]) / static_cast<double>(n - at);
            if (here <= slope) {
                slope = here;
                next = n;
            }
        }
        sum += static_cast<double>(next - at) * std::pow(std::max(0.0, -slope), 2.0 / 3);
        at = next;
    }
    return 2 / static_cast<double>(last) * sum * sum * sum;
}

/// The orthonormal eigenvector number k = 1 .. T of A A^T and its eigenvalue, in closed form.
double eigenvector(std::size_t steps, std::size_t k, std::size_t i) {
    const double angle = (2.0 * static_cast<double>(k) - 1) * std::numbers::pi /
                         (2.0 * static_cast<double>(steps) + 1);
    return 2 / std::sqrt(2.0 * static_cast<double>(steps) + 1) *
           std::sin(angle * static_cast<double>(i));
}

double singular_value(double steps, double k) {
    return 0.5 / std::sin((2 * k - 1) * std::numbers::pi / (4 * steps + 2));
}

// Each e_n by another way, from both sides. Below: y_j without a search, and Jacobi's eigenvalues.
// Above: the distance of the a_j from the first n eigenvectors of A A^T, since that is the distance
// from some n dimensions. The table lies between what either side gives.
TEST(LowerBound, LiesBetweenTwoOtherPrograms) {
    for (const std::size_t steps : {2U, 5U, 12U, 24U, 40U}) {
        double below = 0;
        double above = 0;
        for (const double exponent : {0.0, 0.3, 0.55}) {
            std::vector<double> w(steps);
            double all = 0;
            for (std::size_t j = 0; j < steps; ++j)
                all += w[j] = std::pow(
                    1 - (static_cast<double>(j) + 0.5) / static_cast<double>(steps), exponent);
            std::vector<double> least(steps + 1);
            std::vector<double> most(steps + 1);
            for (std::size_t n = 0; n < steps; ++n) {
                // Z a_j with the eigenvalue min(1, corner / value) of Z; and outside of n of them.
                const double corner = square(
                    singular_value(static_cast<double>(steps), 1.5 * static_cast<double>(n) + 0.5));
                Matrix y(steps, std::vector<double>(steps)); // y[j] in rows
                for (std::size_t j = 0; j < steps; ++j) {
                    double outside = 0;
                    for (std::size_t k = 1; k <= steps; ++k) {
                        double along = 0;
                        for (std::size_t i = j; i < steps; ++i)
                            along += eigenvector(steps, k, i + 1);
                        outside += k > n ? along * along : 0;
                        const double value = square(
                            singular_value(static_cast<double>(steps), static_cast<double>(k)));
                        for (std::size_t i = 0; i < steps; ++i)
                            y[j][i] += std::min(1.0, corner / value) * along *
                                       eigenvector(steps, k, i + 1);
                    }
                    most[n] += w[j] / all * std::sqrt(outside);
                    const double norm =
                        std::sqrt(std::inner_product(y[j].begin(), y[j].end(), y[j].begin(), 0.0));
                    for (double& entry : y[j])
                        entry /= norm;
                }
                Matrix s(steps, std::vector<double>(steps));
                for (std::size_t j = 0; j < steps; ++j)
                    for (std::size_t i = j; i < steps; ++i)
                        for (std::size_t k = 0; k < steps; ++k) {
                            s[i][k] += w[j] / all * y[j][k] / 2;
                            s[k][i] += w[j] / all * y[j][k] / 2;
                        }
                const std::vector<double> value = eigenvalues(s);
                double sum = 0;
                for (std::size_t m = 0; m <= steps; ++m) {
                    least[steps - m] = std::max(least[steps - m], sum);
                    if (m < steps)
                        sum += value[m];
                }
            }
            for (std::size_t n = 0; n <= steps; ++n)
                EXPECT_LE(least[n], most[n] + 1e-9) << steps << " " << n;
            below = std::max(below, bound_from(least));
            above = std::max(above, bound_from(most));
        }
        const double table = certified(static_cast<std::int64_t>(steps));
        EXPECT_GE(table, below * 0.97) << steps; // the search is better, and coarser in n
        EXPECT_LE(table, above) << steps;
        EXPECT_LT(above, below * 1.25) << steps;
    }
}

// Long streams, all columns alike: sum over j of dist(a_j, span)/T is at most the root of the mean
// of its squares, which for the first n eigenvectors is a sum of eigenvalues. So this is what no
// certificate of this kind can pass; with cosines for steps it is 12 % above the table's constant.
TEST(LowerBound, OfLongStreamsIsWithinReachOfTheMethod) {
    for (const std::int64_t horizon : {4096, 32'768, 262'144}) {
        const auto steps = static_cast<double>(horizon);
        std::vector<double> e(static_cast<std::size_t>(horizon) + 1);
        double squares = 0;
        for (std::int64_t k = horizon; k >= 1; --k) {
            const double value = singular_value(steps, static_cast<double>(k));
            squares += value * value;
            e[static_cast<std::size_t>(k) - 1] = std::sqrt(squares / steps);
        }
        double sum = 0; // e is convex
        for (std::size_t n = 1; n < e.size(); ++n)
            sum += std::pow(e[n - 1] - e[n], 2.0 / 3);
        const double above = 2 / steps * sum * sum * sum;
        EXPECT_LT(certified(horizon), above) << horizon;
        EXPECT_GT(certified(horizon), 0.75 * above) << horizon;
    }
}

// log^3 T is unavoidable: the cube root grows by (4 / (9 pi^2))^(1/3) with every e-fold, which as a
// constant of log2(T)^3 is 4 ln(2)^3 / (9 pi^2) = 0.0150.
TEST(LowerBound, GrowsWithTheCubeOfTheLogarithm) {
    const double slope = std::cbrt(4 / (9 * std::numbers::pi * std::numbers::pi));
    EXPECT_NEAR(std::pow(slope * std::numbers::ln2, 3), 0.0150, 5e-5);
    for (int bits = 14; bits <= 58; bits += 4) {
        const double growth = std::cbrt(certified(std::int64_t{1} << (bits + 4))) -
                              std::cbrt(certified(std::int64_t{1} << bits));
        EXPECT_NEAR(growth / (4 * std::numbers::ln2) / slope, 1, 0.02) << bits;
    }
}

// The figures of docs/derivation.md, section 10, and how far above the default is.
TEST(LowerBound, LeavesThisToBeFound) {
    for (const auto& [horizon, mse, factor] :
         {std::tuple(24LL, 10.20, 1.9), std::tuple(64LL, 15.65, 2.0), std::tuple(256LL, 26.51, 2.3),
          std::tuple(365LL, 29.77, 2.3), std::tuple(1024LL, 41.60, 2.4),
          std::tuple(10'000LL, 70.66, 2.9), std::tuple(1'000'000LL, 189.2, 3.1),
          std::tuple(1'000'000'000LL, 552.5, 3.3)}) {
        EXPECT_NEAR(certified(horizon), mse, 1e-3 * mse) << horizon;
        EXPECT_GE(certified(horizon), mse) << horizon;
        const double least =
            make_mechanism({horizon, kSmall, {}, {}}).mse() * kUnit / certified(horizon);
        EXPECT_LT(least, factor) << horizon;
        EXPECT_GT(least, factor - 0.4) << horizon;
        EXPECT_GT(certified(horizon), 4 * std::pow(std::log(static_cast<double>(horizon)), 3) /
                                          (9 * std::numbers::pi * std::numbers::pi));
    }
}

} // namespace
} // namespace dp_counter
