// The exact sampler of discrete Laplace noise, P(z) = (1 - q) / (1 + q) q^|z| with
// q = exp(-1/scale).
//
// z is G with probability 1 / (1 + q) and -(1 + G) otherwise, G geometric: P(G = n) = (1 - q) q^n.
// Either sign has values of its own, so nothing is rejected. (The distribution: Canonne, Kamath,
// Steinke 2020, section 5.)
//
// The base-16 digits of G are independent, since q^(sum d_i 16^i) is a product over the digits:
// digit i is at least j with probability (q_i^j - q_i^16) / (1 - q_i^16), q_i = q^(16^i). The top
// digit is open: it is at least j with probability q_top^j, and when it reaches 15 another one is
// added to it (memorylessness); the number of digits is chosen so that this has probability below
// 2^-48.
//
// A digit is found by comparing one uniform number with 15 thresholds, all of them, the sign by
// comparing one with q / (1 + q), without a branch: the time does not depend on the value. The
// thresholds' first 96 bits are certified by enclosures (certified_exp.hpp). 32 random bits decide
// all but 15 in 2^32 digits; a tie is settled by 64 more, and a tie there by as many as it takes.
// So the distribution is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/noise/laplace_scale.hpp"
#include "core/noise/random_source.hpp"

namespace dp_counter {

/// A sampler for one scale. It holds public values alone: all streams share it.
class DiscreteLaplace {
public:
    /// Takes 10 to 60 microseconds. Throws Error (parameter) if the scale is above max_scale().
    explicit DiscreteLaplace(const LaplaceScale& scale);

    /// The greatest scale, that of the finest lattice (hat_levels.cpp): 14 digits.
    static constexpr double max_scale() { return 0x1p50; }

    [[nodiscard]] const LaplaceScale& scale() const noexcept { return scale_; }

    /// The part of the object that is in use, which its scale decides.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return offsetof(DiscreteLaplace, digits_) + digit_count_ * sizeof(Digit);
    }

private:
    friend class Release; // which alone draws: its unit of privacy is stated
    friend class BoxNoise;
    friend class SparseNoise;

    /// One noise value. Throws Error (overflow) from 2^62 on: with probability below exp(-2000).
    [[nodiscard]] std::int64_t draw(RandomSource& random) const;

    static constexpr int kBase = 16;
    static constexpr int kMaxDigits = 14;

    static constexpr int kSign = -1; ///< means the sign where a digit's index is expected

    template <std::size_t count>
    struct Thresholds {
        std::int32_t word[count];  ///< the first 32 bits, less 2^31 (signed compares are cheaper)
        std::uint64_t tail[count]; ///< the next 64 bits
    };
    /// "the digit is at least j + 1", j = 0..14; entry 15 is never reached
    using Digit = Thresholds<kBase>;

    /// Minus as a number of ones alone, plus as 0.
    [[nodiscard]] std::uint64_t draw_sign(RandomSource& random) const;
    [[nodiscard]] std::uint64_t draw_magnitude(RandomSource& random) const;
    /// Appends digits index .. 0, drawn one by one, to those that are known.
    [[nodiscard]] std::uint64_t draw_digits(std::uint64_t known, int index,
                                            RandomSource& random) const;
    [[nodiscard]] int draw_digit(int index, RandomSource& random) const;
    /// The first threshold that is not above the word is the only one that may equal it. (So may
    /// the sixteenth entry; settle_tie() handles that.) The comparison has just read all of them:
    /// this access reveals nothing through a cache.
    [[nodiscard]] static bool is_tie(const Digit& digit, std::int32_t word, int reached) noexcept {
        return __builtin_expect(static_cast<long>(digit.word[reached] == word), 0) != 0;
    }
    /// How many thresholds of a digit, or of the sign, lie above a number that begins like this.
    [[nodiscard]] int settle_tie(int index, std::int32_t word, RandomSource& random) const;
    [[nodiscard]] int settle_exactly(int index, uint128 first_96_bits, RandomSource& random) const;
    [[nodiscard]] std::uint64_t extend_top_digit(std::uint64_t top, RandomSource& random) const;

    LaplaceScale scale_;
    int digit_count_;
    Thresholds<1> sign_;         ///< "minus"
    Digit digits_[kMaxDigits]{}; ///< least significant first
};

static_assert(std::is_trivially_copyable_v<DiscreteLaplace>);
static_assert(std::is_standard_layout_v<DiscreteLaplace>);

/// How many of sixteen falling thresholds lie above a word, by comparing it with all of them.
[[nodiscard]] inline int count_above(std::int32_t word, const std::int32_t* threshold) noexcept {
#ifdef __SSE2__
    const __m128i w = _mm_set1_epi32(word);
    const auto above = [&](std::size_t i) {
        return _mm_cmpgt_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(threshold + 4 * i)),
                               w);
    };
    const __m128i bytes = // one for each threshold
        _mm_packs_epi16(_mm_packs_epi32(above(0), above(1)), _mm_packs_epi32(above(2), above(3)));
    return __builtin_ctz(~static_cast<unsigned>(_mm_movemask_epi8(bytes)));
#else
    int above = 0;
    for (int j = 0; j < 16; ++j)
        above += word < threshold[j] ? 1 : 0;
    return above;
#endif
}

inline std::uint64_t DiscreteLaplace::draw_sign(RandomSource& random) const {
    const auto word = static_cast<std::int32_t>(random.next32());
    if (word == sign_.word[0]) [[unlikely]]
        return 0 - static_cast<std::uint64_t>(settle_tie(kSign, word, random));
    // The sign of the difference, since compilers may make a branch of a comparison.
    return static_cast<std::uint64_t>((std::int64_t{word} - sign_.word[0]) >> 63);
}

inline std::uint64_t DiscreteLaplace::draw_magnitude(RandomSource& random) const {
    const int count = digit_count_;
    const int top = count - 1;
    std::uint32_t* words = random.take(static_cast<std::size_t>(count));
    if (words == nullptr) [[unlikely]]
        return draw_digits(0, top, random);
    std::uint64_t magnitude = 0;
    for (int i = top; i >= 0; --i) {
        const auto word = static_cast<std::int32_t>(*words);
        const int reached = count_above(word, digits_[i].word);
        if (is_tie(digits_[i], word, reached) || (i == top && reached == kBase - 1)) [[unlikely]] {
            const int unused = i + 1;
            random.give_back(static_cast<std::size_t>(unused));
            return draw_digits(magnitude, i, random);
        }
        *words++ = 0;
        magnitude = magnitude * kBase + static_cast<std::uint64_t>(reached);
    }
    return magnitude;
}

inline std::int64_t DiscreteLaplace::draw(RandomSource& random) const {
    const auto sign = draw_sign(random);
    return static_cast<std::int64_t>(draw_magnitude(random) ^ sign); // ~G is -(1 + G)
}

} // namespace dp_counter
