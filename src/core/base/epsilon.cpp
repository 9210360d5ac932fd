#include "core/base/epsilon.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/base/error.hpp"

namespace dp_counter {

namespace {

/// The value in the fewest digits that distinguish it from the neighboring doubles.
std::string shortest(double value) {
    char text[32];
    for (int digits = 6; digits <= 17; ++digits) {
        (void)std::snprintf(text, sizeof text, "%.*g", digits, value);
        if (std::strtod(text, nullptr) == value)
            break;
    }
    return text;
}

} // namespace

Epsilon::Epsilon(double value) : value_(value) {
    if (!(value >= kMin && value <= kMax)) { // also false for NaN
        throw Error(Fault::parameter,
                    "epsilon must be between 1e-09 and 1e+09, not " + shortest(value), kUsual);
    }
    static_assert(std::numeric_limits<double>::is_iec559);
    const auto bits = std::bit_cast<std::uint64_t>(value); // positive and normal
    mantissa_ = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    exponent_ = static_cast<int>(bits >> 52) - 1075;
}

} // namespace dp_counter
