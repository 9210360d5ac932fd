// Reference lines for one noise value: what dp_counter's sampler is measured against.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/checked.hpp"
#include "core/noise/random_source.hpp"

namespace dp_counter::bench {

/// A uniform number below `end`, without bias and mostly without a division (Lemire 2019).
inline std::uint64_t uniform_below(std::uint64_t end, RandomSource& random) {
    uint128 product = static_cast<uint128>(random.next64()) * end;
    if (static_cast<std::uint64_t>(product) < end) {
        const std::uint64_t biased = (0 - end) % end;
        while (static_cast<std::uint64_t>(product) < biased)
            product = static_cast<uint128>(random.next64()) * end;
    }
    return static_cast<std::uint64_t>(product >> 64);
}

/// True with probability exp(-numerator / denominator), for a quotient in [0, 1].
inline bool bernoulli_exp(std::uint64_t numerator, std::uint64_t denominator,
                          RandomSource& random) {
    std::uint64_t k = 1;
    while (uniform_below(denominator * k, random) < numerator)
        ++k;
    return k % 2 == 1;
}

/// The exact sampler of Canonne, Kamath and Steinke ("The Discrete Gaussian for Differential
/// Privacy", 2020, algorithms 1 and 2), written down plainly: the same distribution as
/// DiscreteLaplace of a whole scale, but its time follows the value.
inline std::int64_t draw_by_rejection(std::uint64_t scale, RandomSource& random) {
    static std::uint32_t signs = 1; // random bits behind a leading 1; a word serves 31 draws
    for (;;) {
        const std::uint64_t u = uniform_below(scale, random);
        if (!bernoulli_exp(u, scale, random))
            continue;
        std::uint64_t v = 0;
        while (bernoulli_exp(1, 1, random))
            ++v;
        const auto magnitude = static_cast<std::int64_t>(u + scale * v);
        if (signs == 1)
            signs = random.next32() | 1U << 31;
        const bool negative = (signs & 1U) != 0;
        signs >>= 1;
        if (!negative || magnitude != 0)
            return negative ? -magnitude : magnitude;
    }
}

/// NOT private: Laplace noise by the inverse distribution function in double precision, rounded.
/// The gaps between doubles tell the true count (Mironov 2012), and the time of log() follows the
/// value. It is here as the price of no care at all.
inline std::int64_t draw_insecurely(double scale, RandomSource& random) {
    const double uniform = (static_cast<double>(random.next64() >> 11) + 0.5) * 0x1p-53; // in (0,1)
    const double centered = uniform - 0.5;
    const double magnitude = -scale * std::log(1 - 2 * std::fabs(centered));
    return std::llrint(std::copysign(magnitude, centered));
}

} // namespace dp_counter::bench
