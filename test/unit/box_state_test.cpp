#include "core/count/box_state.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <sodium.h>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes encoded(const BoxState& state) {
    Bytes bytes(BoxState::kBytes);
    state.encode(bytes.data());
    return bytes;
}

void expect_corrupt(const Bytes& bytes, std::int32_t size) {
    BoxState state{};
    try {
        state.decode(bytes, size);
        ADD_FAILURE() << "was read";
    } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::corrupt);
    }
}

TEST(BoxState, OneRadiusForABlock) {
    Keystream random;
    const BoxNoise sampler(BoxLaw({Epsilon(1e-9), 4}, 3)); // radii of 1e10: equal at 1e-9
    const Release release(sampler.law().unit, random);
    BoxState state{};
    std::int64_t last = 0;
    for (int block = 0; block < 20; ++block) {
        EXPECT_EQ(state.radius, 0);
        const std::int64_t noise = state.advance(sampler, release);
        const std::int64_t radius = state.radius;
        EXPECT_LE(std::abs(noise), radius);
        EXPECT_NE(radius, 0);
        EXPECT_NE(radius, last);
        last = radius;
        EXPECT_LE(std::abs(state.advance(sampler, release)), radius);
        EXPECT_EQ(state.radius, radius);
        EXPECT_LE(std::abs(state.advance(sampler, release)), radius);
        EXPECT_EQ(state.radius, 0);
    }
    EXPECT_EQ(state.step, 60);
}

TEST(BoxState, GoesOnFromItsBytes) {
    const BoxNoise sampler(BoxLaw({Epsilon(0.1), 4}, 5));
    test::Seeded one(7);
    test::Seeded two(7);
    BoxState through{};
    BoxState stored{};
    for (int i = 0; i < 23; ++i) {
        const Bytes bytes = encoded(stored);
        stored = {};
        stored.decode(bytes, 5);
        ASSERT_EQ(stored.advance(sampler, Release(sampler.law().unit, one)),
                  through.advance(sampler, Release(sampler.law().unit, two)));
    }
}

TEST(BoxState, RefusesHostileBytes) {
    const Bytes good = encoded({7, 12345});
    BoxState state{};
    state.decode(good, 5);
    EXPECT_EQ(state.step, 7);
    EXPECT_EQ(state.radius, 12345);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
        Bytes bad = good;
        bad[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
        expect_corrupt(bad, 5);
    }
    for (std::size_t size = 0; size < good.size(); ++size)
        expect_corrupt(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), 5);
    Bytes longer = good;
    longer.push_back(0);
    expect_corrupt(longer, 5);
    // With a checksum that is right.
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    expect_corrupt(encoded({-1, 0}), 5);
    expect_corrupt(encoded({kLeast, 0}), 5);
    expect_corrupt(encoded({kMaxHorizon + 1, 0}), 5);
    expect_corrupt(encoded({7, -1}), 5);
    expect_corrupt(encoded({7, kLeast}), 5);
    expect_corrupt(encoded({7, BoxNoise::kRadiusEnd}), 5);
    expect_corrupt(encoded({10, 3}), 5); // where a block begins there is no radius
    expect_corrupt(encoded({7, 3}), 1);
    for (const std::size_t place : {0U, 3U, 4U, 5U}) { // another kind, another version
        Bytes other = good;
        other[place] ^= 1U;
        crypto_generichash(other.data() + 22, 32, other.data(), 22, nullptr, 0);
        expect_corrupt(other, 5);
    }
}

} // namespace
} // namespace dp_counter
