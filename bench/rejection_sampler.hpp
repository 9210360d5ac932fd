// Reference line: the exact sampler of Canonne, Kamath and Steinke ("The Discrete Gaussian for
// Differential Privacy", 2020, algorithms 1 and 2), written down plainly. It draws from the same
// distribution as DiscreteLaplace, but its time follows the value.
#pragma once

#include <cstdint>

#include "core/checked.hpp"
#include "core/random_source.hpp"

namespace dp_counter::bench {

/// Uniform bits; a word serves 32 of them.
class Bits {
public:
    bool next(RandomSource& random) {
        if (left_ == 0) {
            bits_ = random.next32();
            left_ = 32;
        }
        --left_;
        return (bits_ >> left_ & 1U) != 0;
    }

private:
    std::uint32_t bits_ = 0;
    unsigned left_ = 0;
};

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

/// True with probability exp(-numerator / denominator), for a quotient in [0, 1] (algorithm 1).
inline bool bernoulli_exp(std::uint64_t numerator, std::uint64_t denominator,
                          RandomSource& random) {
    std::uint64_t k = 1;
    while (uniform_below(denominator * k, random) < numerator)
        ++k;
    return k % 2 == 1;
}

/// Discrete Laplace noise of scale t / s (algorithm 2).
inline std::int64_t draw_by_rejection(std::uint64_t t, std::uint64_t s, RandomSource& random,
                                      Bits& signs) {
    for (;;) {
        const std::uint64_t u = uniform_below(t, random);
        if (!bernoulli_exp(u, t, random))
            continue;
        std::uint64_t v = 0;
        while (bernoulli_exp(1, 1, random))
            ++v;
        const auto magnitude = static_cast<std::int64_t>((u + t * v) / s);
        const bool negative = signs.next(random);
        if (!negative || magnitude != 0)
            return negative ? -magnitude : magnitude;
    }
}

} // namespace dp_counter::bench
