// The stream of a counter with box noise, and its state as a string of bytes.
//
// Format, version 1; numbers are little-endian:
//     0  4 bytes  "DPBS"
//     4  u16      version: 1
//     6  i64      step
//    14  i64      radius of the block that the next step is in; 0 where it begins one
//    22  32 bytes BLAKE2b-256 of all that comes before
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/noise/release.hpp"

namespace dp_counter {

/// Trivial; all zero at step 0. A block's radius is drawn at its first step, and is gone after its
/// last one.
struct BoxState {
    static constexpr std::size_t kBytes = 54;

    std::int64_t step;
    std::int64_t radius; ///< secret

    /// The noise of the next step. Throws Error (overflow) as Release::draw_radius does.
    [[nodiscard]] std::int64_t advance(const BoxNoise& sampler, const Release& release) {
        const std::int32_t size = sampler.law().size;
        if (step % size == 0)
            radius = release.draw_radius(sampler);
        const std::int64_t noise = release.draw_within(sampler, radius);
        ++step;
        if (step % size == 0)
            radius = 0;
        return noise;
    }

    /// Writes kBytes bytes to `out`.
    void encode(unsigned char* out) const;

    /// Reads the state of a stream with blocks of `size`. The bytes are parsed as if an attacker
    /// had written them: throws Error (corrupt) for any that encode() does not write.
    void decode(std::span<const unsigned char> bytes, std::int32_t size);
};

} // namespace dp_counter
