#include "core/literature/square_root_factorisation.hpp"

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

} // namespace

SquareRootNorms square_root_norms(std::int64_t horizon) noexcept {
    constexpr std::int64_t kSummed = 4096;
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

} // namespace dp_counter
