#include "core/epsilon.hpp"

#include <cmath>
#include <cstdio>

#include "core/error.hpp"

namespace dp_counter {

Epsilon::Epsilon(double value) : value_(value) {
    if (!(value >= kMin && value <= kMax)) { // also false for NaN
        char message[96];
        (void)std::snprintf(message, sizeof message, "epsilon must be between 1e-09 and 1e+09, not %g",
                      value);
        throw Error(Fault::parameter, message,
                    "Small values protect more and add more noise; 0.1 to 1 is usual.");
    }
    const double fraction = std::frexp(value, &exponent_); // value = fraction * 2^exponent, exact
    mantissa_ = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    exponent_ -= 53;
}

} // namespace dp_counter
