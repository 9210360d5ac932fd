#include "core/literature/gaussian_noise.hpp"

#include <cmath>
#include <cstdio>
#include <numbers>

#include "core/base/error.hpp"

namespace dp_counter {

namespace {

using std::numbers::pi;

/// Mills' ratio: (1 - Phi(x)) / density(x), for any x.
double mills(double x) {
    if (x < 20)
        return std::sqrt(pi / 2) * std::erfc(x / std::numbers::sqrt2) * std::exp(x * x / 2);
    double fraction = 0; // Laplace's continued fraction x + 1/(x + 2/(x + 3/(x + ...
    for (int i = 30; i >= 1; --i)
        fraction = i / (x + fraction);
    return 1 / (x + fraction);
}

/// mills(low) - mills(high) for low >= 0.
double mills_difference(double low, double high) {
    if (high - low > 0.5)
        return mills(low) - mills(high);
    // The derivative of Mills' ratio is x mills(x) - 1; Gauss-Legendre with five nodes.
    constexpr double node[] = {0, 0.5384693101056831, 0.9061798459386640};
    constexpr double weight[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
    const double middle = (low + high) / 2;
    const double half = (high - low) / 2;
    const auto slope = [](double x) { // 1 - x mills(x) without cancellation
        if (x < 20)
            return 1 - x * mills(x);
        double fraction = 0;
        for (int i = 30; i >= 1; --i)
            fraction = i / (x + fraction);
        return fraction / (x + fraction);
    };
    double sum = weight[0] * slope(middle);
    for (int i = 1; i < 3; ++i)
        sum += weight[i] * (slope(middle - half * node[i]) + slope(middle + half * node[i]));
    return sum * half;
}

} // namespace

Delta::Delta(double value) : value_(value) {
    if (!(value >= kMin && value < 1)) { // also false for NaN
        char message[96];
        (void)std::snprintf(message, sizeof message,
                            "delta must be at least 1e-300 and below 1, not %g", value);
        throw Error(Fault::parameter, message,
                    "delta should be far below 1 over the number of rows; leave it out for pure "
                    "differential privacy.");
    }
}

double log_gaussian_delta(double stddev, Epsilon epsilon) noexcept {
    const double a = 0.5 / stddev;
    const double b = epsilon.value() * stddev;
    // e^epsilon density(a + b) = density(b - a), since epsilon = 2ab.
    if (b >= a)
        return -(b - a) * (b - a) / 2 - std::log(2 * pi) / 2 +
               std::log(mills_difference(b - a, b + a));
    const double over = std::exp(-(b - a) * (b - a) / 2) / std::sqrt(2 * pi) * mills(a + b);
    return std::log(std::erfc((b - a) / std::numbers::sqrt2) / 2 - over);
}

double analytic_gaussian_stddev(Epsilon epsilon, Delta delta) noexcept {
    // delta falls as the standard deviation rises; bisect its logarithm.
    const double goal = std::log(delta.value());
    double low = -50;
    double high = 800;
    while (high - low > 1e-12 * std::fmax(1, std::abs(low))) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        (log_gaussian_delta(std::exp(middle), epsilon) > goal ? low : high) = middle;
    }
    return std::exp(high);
}

double classic_gaussian_stddev(Epsilon epsilon, Delta delta) noexcept {
    return std::sqrt(2 * std::log(1.25 / delta.value())) / epsilon.value();
}

double henzinger_gaussian_stddev(Epsilon epsilon, Delta delta) noexcept {
    const double log = std::log(std::sqrt(2 / pi) / delta.value());
    return 2 / epsilon.value() * std::sqrt(std::fmax(0, 4.0 / 9 + log));
}

bool gaussian_is_private(double stddev, Epsilon epsilon, Delta delta) noexcept {
    return stddev > 0 && log_gaussian_delta(stddev, epsilon) <= std::log(delta.value());
}

} // namespace dp_counter
