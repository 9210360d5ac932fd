// What the unit tests share: generators that they can script, and the paper's definitions written
// out by brute force, independently of src/core.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include <sodium.h>

#include "core/accuracy/noise_distribution.hpp"
#include "core/count/noise_stream.hpp"
#include "core/noise/release.hpp"

namespace dp_counter::test {

/// Hands out the given words and fails when they run out.
class Script final : public RandomSource {
public:
    explicit Script(std::vector<std::uint32_t> words) : words_(std::move(words)) {}

    /// Words not yet asked for; counted in whole buffers.
    [[nodiscard]] std::size_t refills() const { return refills_; }

private:
    void refill(std::uint32_t* words) override {
        if (refills_++ > 0)
            throw std::logic_error("the script is too short");
        for (std::size_t i = 0; i < kWords; ++i)
            words[i] = i < words_.size() ? words_[i] : 0;
    }

    std::vector<std::uint32_t> words_;
    std::size_t refills_ = 0;
};

/// The same words every time, where a test is to end the same way every time.
class Seeded final : public RandomSource {
public:
    explicit Seeded(std::uint32_t seed) : random_(seed) {}

private:
    // Not inlined: GCC 16 inlines it on a guess into code for other sources, and then warns about
    // what it has done.
    [[gnu::noinline]] void refill(std::uint32_t* words) override {
        for (std::size_t i = 0; i < kWords; ++i)
            words[i] = static_cast<std::uint32_t>(random_());
    }

    std::mt19937 random_;
};

/// Of a release, or of its difference to an earlier one.
template <class Errors>
std::int64_t half_width_of(Errors&& errors, std::int64_t t, double confidence,
                           std::int64_t since = 0) {
    return NoiseDistribution(errors.noise_at(t, since)).half_width(confidence);
}

/// A draw of a release that is priced as the sampler is.
inline std::int64_t draw(const DiscreteLaplace& sampler, RandomSource& random) {
    return Release(sampler.scale().epsilon, random).draw(sampler);
}

/// Memory for a stream or a counter: aligned for any object, as their contracts want it, and not a
/// byte longer than asked for, so that AddressSanitizer sees who passes its end.
using Block = std::unique_ptr<char[]>;
static_assert(NoiseStream::kAlignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

inline Block block_of(std::size_t bytes) {
    return Block(new char[bytes]);
}

/// sodium_init() before main().
inline const int sodium_ready = sodium_init();

/// Digits of t, least significant first: the only way to write t with digits in
/// [lowest, lowest + k - 1], found by trying all of them.
inline std::vector<int> digits_by_search(std::int64_t t, int k, int lowest) {
    std::vector<int> digits;
    while (t != 0) {
        for (int d = lowest; d < lowest + k; ++d)
            if ((t - d) % k == 0) {
                digits.push_back(d);
                t = (t - d) / k;
                break;
            }
    }
    return digits;
}

/// An interval of steps, [first, last], whose sum a tree node holds.
struct Node {
    std::int64_t first;
    std::int64_t last;
    friend auto operator<=>(const Node&, const Node&) = default;
};

struct SignedNode {
    Node node;
    int sign;
};

/// The nodes of the release at t: from the highest digit down, p moves by sgn(digit) k^level
/// abs(digit) times (the paper's Algorithm 3, its line 15 corrected).
inline std::vector<SignedNode> nodes_by_definition(std::int64_t t, int k, int lowest) {
    const std::vector<int> digits = digits_by_search(t, k, lowest);
    std::vector<SignedNode> nodes;
    std::int64_t p = 0;
    for (std::size_t level = digits.size(); level-- > 0;) {
        std::int64_t block = 1;
        for (std::size_t i = 0; i < level; ++i)
            block *= k;
        for (int j = std::abs(digits[level]); j > 0; --j) {
            if (digits[level] > 0) {
                nodes.push_back({{p + 1, p + block}, 1});
                p += block;
            } else {
                nodes.push_back({{p - block + 1, p}, -1});
                p -= block;
            }
        }
    }
    return nodes;
}

} // namespace dp_counter::test
