#include "core/noise/laplace_scale.hpp"

#include <cmath>

namespace dp_counter {

double LaplaceScale::value() const noexcept {
    return static_cast<double>(sensitivity) / (divisor * epsilon.value());
}

double LaplaceScale::variance() const noexcept {
    const double s = std::sinh(0.5 / value()); // 2q/(1-q)^2 = 1 / (2 sinh(x/2)^2), x = 1/scale
    return 0.5 / (s * s);
}

} // namespace dp_counter
