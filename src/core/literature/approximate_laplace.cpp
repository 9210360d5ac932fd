#include "core/literature/approximate_laplace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/error.hpp"

namespace dp_counter {

void Sensitivities::check() const {
    if (std::isfinite(l1) && l2 > 0 && l2 <= l1)
        return;
    char message[128];
    (void)std::snprintf(message, sizeof message,
                        "sensitivities must be above 0, l2 at most l1, not l1 = %g and l2 = %g", l1,
                        l2);
    throw Error(Fault::parameter, message,
                "A tree of height h has the l1 sensitivity h and the l2 sensitivity sqrt(h).");
}

double approximate_laplace_epsilon(double scale, Delta delta, const Sensitivities& sensitivities) {
    sensitivities.check();
    if (!(scale > 0) || !std::isfinite(scale)) {
        char message[64];
        (void)std::snprintf(message, sizeof message, "scale must be above 0, not %g", scale);
        throw Error(Fault::parameter, message, "It is the l1 sensitivity over epsilon.");
    }
    const double pure = sensitivities.l1 / scale;
    if (scale <= sensitivities.l1)
        return pure;
    const double a = sensitivities.l2 / scale;
    return std::min(pure, a * (a / 2 + std::sqrt(2 * std::log(1 / delta.value()))));
}

double approximate_laplace_scale(Epsilon epsilon, Delta delta, const Sensitivities& sensitivities) {
    sensitivities.check();
    // a (a/2 + s) = epsilon, s = sqrt(2 ln(1/delta)), has the root a = sqrt(s^2 + 2 epsilon) - s.
    const double pure = sensitivities.l1 / epsilon.value();
    const double s = std::sqrt(2 * std::log(1 / delta.value()));
    const double a = 2 * epsilon.value() / (std::sqrt(s * s + 2 * epsilon.value()) + s);
    const double above_l1 = std::nextafter(sensitivities.l1, HUGE_VAL);
    return std::min(pure, std::max(sensitivities.l2 / a, above_l1));
}

} // namespace dp_counter
