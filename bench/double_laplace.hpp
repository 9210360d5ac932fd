// Reference line, NOT private: Laplace noise by the inverse distribution function in double
// precision, then rounded. The gaps between doubles tell the true count (Mironov 2012), and the
// time of log() follows the value. It is here as the price of no care at all.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/random_source.hpp"

namespace dp_counter::bench {

inline std::int64_t draw_insecurely(double scale, RandomSource& random) {
    const double uniform = (static_cast<double>(random.next64() >> 11) + 0.5) * 0x1p-53; // in (0,1)
    const double centred = uniform - 0.5;
    const double magnitude = -scale * std::log(1 - 2 * std::fabs(centred));
    return std::llrint(std::copysign(magnitude, centred));
}

} // namespace dp_counter::bench
