#include "core/literature/square_root_factorization.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dp_counter {

namespace {

// With y = t - 1/4, S(t) = constant + g(y) + O(y^-4), g(y) = (ln y + c/y^2) / pi: since
// f(n)^2 = (1/(pi m)) (1 - 1/(32 m^2) + O(m^-4)), m = n + 1/4, and a sum over n < t of F(m) is the
// integral of F up to m = y, less F'(y)/24.
constexpr double kC = 1.0 / 24 + 1.0 / 64;

double g(double y) {
    return (std::log(y) + kC / (y * y)) / std::numbers::pi;
}

double g_slope(double y) {
    return (1 / y - 2 * kC / (y * y * y)) / std::numbers::pi;
}

double g_integral(double y) {
    return (y * std::log(y) - y - kC / y) / std::numbers::pi;
}

constexpr std::int64_t kSummed = 4096;

/// The sum of f(n) over n < t, for t > kSummed: (2/sqrt(pi)) sqrt(y) (1 + 1/(64 y^2) + O(y^-4)).
double row_sum(double y) {
    return 2 / std::sqrt(std::numbers::pi) * std::sqrt(y) * (1 + 1 / (64 * y * y));
}

/// The same for y = z + gap, less that for z: without cancellation.
double row_sum_difference(double z, double gap) {
    const double y = z + gap;
    return 2 / std::sqrt(std::numbers::pi) *
           (gap / (std::sqrt(y) + std::sqrt(z)) + (std::pow(y, -1.5) - std::pow(z, -1.5)) / 64);
}

/// The integral of `function` over [from, to], from > 0: Gauss-Legendre with five nodes in pieces
/// of half a unit of the logarithm.
template <class Function>
double integral(Function&& function, double from, double to) {
    constexpr double kNode[] = {0, 0.5384693101056831, 0.9061798459386640};
    constexpr double kWeight[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
    const double pieces = std::ceil(2 * std::log(to / from));
    const double half = std::log(to / from) / pieces / 2;
    const auto value = [&](double logarithm) {
        const double x = from * std::exp(logarithm);
        return x * function(x);
    };
    double sum = 0;
    for (int i = 0; i < static_cast<int>(pieces); ++i) {
        const double middle = (2 * i + 1) * half;
        sum += kWeight[0] * value(middle);
        for (int n = 1; n < 3; ++n)
            sum += kWeight[n] * (value(middle - half * kNode[n]) + value(middle + half * kNode[n]));
    }
    return sum * half;
}

} // namespace

double first_columns_norm(std::int64_t horizon, std::int64_t columns) noexcept {
    // The entry of row t is row_sum(t) - row_sum(t - columns). Rows are summed one by one where it
    // bends, up to kSummed and past `columns`; elsewhere by the midpoint rule.
    double sums[kSummed + 1] = {0};
    double f = 1;
    for (std::int64_t t = 1; t <= kSummed; ++t) {
        sums[t] = sums[t - 1] + f;
        f *= (2 * static_cast<double>(t) - 1) / (2 * static_cast<double>(t));
    }
    const auto entry = [&](std::int64_t t) {
        const double here = t <= kSummed ? sums[t] : row_sum(static_cast<double>(t) - 0.25);
        return t <= columns ? here : here - (t - columns <= kSummed ? sums[t - columns] : 0);
    };
    double total = 0;
    std::int64_t done = std::min(horizon, kSummed);
    for (std::int64_t t = 1; t <= done; ++t)
        total += entry(t) * entry(t);
    if (const std::int64_t to = std::min(horizon, columns); to > done) {
        total += integral([](double y) { return row_sum(y) * row_sum(y); },
                          static_cast<double>(done) + 0.25, static_cast<double>(to) + 0.25);
        done = to;
    }
    for (const std::int64_t to = std::min(horizon, columns + kSummed); done < to;) {
        ++done;
        total += entry(done) * entry(done);
    }
    if (done < horizon) {
        const auto gap = static_cast<double>(columns);
        total += integral(
            [&](double z) {
                const double difference = row_sum_difference(z, gap);
                return difference * difference;
            },
            static_cast<double>(done - columns) + 0.25,
            static_cast<double>(horizon - columns) + 0.25);
    }
    return total;
}

SquareRootNorms square_root_norms(std::int64_t horizon) noexcept {
    double f = 1;
    double last = 0;
    double total = 0;
    const std::int64_t summed = std::min(horizon, kSummed);
    for (std::int64_t n = 0; n < summed; ++n) {
        last += f * f;
        total += last;
        f *= (2 * static_cast<double>(n) + 1) / (2 * static_cast<double>(n) + 2);
    }
    const auto size = static_cast<double>(horizon);
    if (horizon > summed) {
        const auto start = static_cast<double>(summed);
        const double constant = last - g(start - 0.25);
        // Sum of g(t - 1/4) over t = summed + 1 .. T, again by the midpoint rule.
        const double from = start + 0.25;
        const double to = size + 0.25;
        const double sum = g_integral(to) - g_integral(from) - (g_slope(to) - g_slope(from)) / 24;
        last = constant + g(size - 0.25);
        total += constant * (size - start) + sum;
    }
    return {last, total / size};
}

double normalized_square_root_mean(std::int64_t horizon) noexcept {
    // Column T + 1 - u of L has the entries sum over n <= m of sqrt(S(u - n)) h(n), 0 <= m < u,
    // with h the coefficients of sqrt(1 - x): its squared norm E(u) is the same for all T. It is
    // S(u)^2 and a little, which is 0.1166 at u = 257, the most, and falls like 0.1145 + 0.018/ln
    // u.
    constexpr std::int64_t kExact = 256;
    constexpr double kLittle = 0.1158;
    double lengths[kExact]; // sqrt(S(u))
    double h[kExact];
    double f = 1;
    double s = 0;
    double total = 0;
    const std::int64_t summed = std::min(horizon, kSummed);
    for (std::int64_t n = 0; n < summed; ++n) {
        s += f * f;
        if (n < kExact) {
            lengths[n] = std::sqrt(s);
            h[n] = n == 0 ? 1 : -f / (2 * static_cast<double>(n) - 1);
            double entry = 0;
            for (std::int64_t m = 0; m <= n; ++m) {
                entry += lengths[n - m] * h[m];
                total += entry * entry;
            }
        } else {
            total += s * s + kLittle;
        }
        f *= (2 * static_cast<double>(n) + 1) / (2 * static_cast<double>(n) + 2);
    }
    const auto size = static_cast<double>(horizon);
    if (horizon > summed) {
        const auto start = static_cast<double>(summed);
        const double constant = s - g(start - 0.25);
        const auto squared = [&](double y) {
            return (constant + g(y)) * (constant + g(y)) + kLittle;
        };
        total += integral(squared, start + 0.25, size + 0.25);
    }
    return total / size;
}

} // namespace dp_counter
