// The exact sampler of box noise (box_law.hpp).
//
// J is found by comparing one uniform number with B thresholds, all of them. Their first 128 bits
// are certified by enclosures; a tie is settled by as many further bits as it takes. The uniform
// number of a step is the high part of 128 random bits times 2R + 1 (Lemire 2019); it is drawn
// again where the low part is below 2^128 mod (2R + 1), with probability below 2^-64: no division
// and no time depends on R but for that. So the distribution is exact.
#pragma once

#include <cstdint>
#include <vector>

#include "core/noise/box_law.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "core/noise/random_source.hpp"

namespace dp_counter {

/// A sampler for one law. It holds public values alone.
class BoxNoise {
public:
    /// Radii are below it.
    static constexpr std::int64_t kRadiusEnd = std::int64_t{1} << 62;

    /// Takes up to a millisecond. Throws Error (parameter) where the scale is out of range.
    explicit BoxNoise(const BoxLaw& law);

    [[nodiscard]] const BoxLaw& law() const noexcept { return law_; }

private:
    friend class Release; // which alone draws: its unit of privacy is stated

    /// The secret radius of a block. Throws Error (overflow) from kRadiusEnd on: with probability
    /// below exp(-2000).
    [[nodiscard]] std::int64_t draw_radius(RandomSource& random) const;

    /// The noise of a step, uniform on {-radius..radius}.
    [[nodiscard]] static std::int64_t draw_within(std::int64_t radius, RandomSource& random);

    [[nodiscard]] std::int64_t draw_offset(RandomSource& random) const;
    [[nodiscard]] std::int64_t settle_exactly(uint128 first_bits, RandomSource& random) const;

    BoxLaw law_;
    DiscreteLaplace geometric_;
    std::vector<uint128> at_least_; ///< "J is at least 1", ..., "at least B", in units of 2^-128
};

} // namespace dp_counter
