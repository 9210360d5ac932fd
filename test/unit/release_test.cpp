#include "core/noise/release.hpp"

#include <stdexcept>
#include <type_traits>

#include <gtest/gtest.h>

#include "core/count/mechanism_cache.hpp"
#include "core/count/noise_stream.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

// Noise without a stated epsilon does not compile.
template <class From, class By>
concept Draws = requires(const From& from, By& by) {
    from.draw(by);
};
template <class By>
concept LooksAhead = requires(NoiseStream& stream, By& by) {
    stream.look_ahead(by);
};
template <class By>
concept Advances = requires(NoiseStream& stream, By& by) {
    stream.advance(by);
};

static_assert(Draws<Release, DiscreteLaplace>);
static_assert(LooksAhead<Release> && Advances<Release>);
static_assert(!Draws<DiscreteLaplace, RandomSource> && !Draws<DiscreteLaplace, Keystream>);
static_assert(!LooksAhead<RandomSource> && !Advances<RandomSource>);
static_assert(!LooksAhead<Keystream> && !Advances<Keystream>);
static_assert(!std::is_default_constructible_v<Release>);
static_assert(!std::is_constructible_v<Release, RandomSource&>);
static_assert(!std::is_convertible_v<Keystream&, Release>);

TEST(Release, DrawsFromSamplersOfItsPrice) {
    // Of any height and lattice of its unit; the words are the sampler's alone.
    for (const std::int64_t sensitivity : {1, 7})
        for (const int height : {1, 3, 19})
            for (const int lattice_bits : {0, 4}) {
                const PrivacyUnit unit(Epsilon(0.7), sensitivity);
                const DiscreteLaplace sampler(unit.scale(height, lattice_bits));
                test::Seeded one(5);
                test::Seeded two(5);
                const Release release(unit, one);
                for (int i = 0; i < 100; ++i)
                    ASSERT_EQ(release.draw(sampler), test::draw(sampler, two));
            }
}

TEST(Release, RefusesSamplersOfAnotherPrice) {
    Keystream random;
    const Release release(PrivacyUnit(Epsilon(0.5), 10), random);
    const auto draw = [&](double epsilon, unsigned sensitivity) {
        return release.draw(DiscreteLaplace({Epsilon(epsilon), sensitivity}));
    };
    EXPECT_NO_THROW((void)draw(0.5, 10));
    EXPECT_THROW((void)draw(0.5, 9), std::logic_error);         // less noise than a level wants
    EXPECT_THROW((void)draw(0.50000001, 10), std::logic_error); // dearer than stated
    EXPECT_THROW((void)draw(0.25, 10), std::logic_error);       // cheaper: another release's
}

TEST(Release, RefusesAStreamOfAnotherPrice) {
    Keystream random;
    MechanismCache cache;
    for (const auto mechanism : {Mechanism::hat, Mechanism::subtraction}) {
        const PreparedMechanism& prepared = cache.prepare({1000, Epsilon(1.0), {}, mechanism});
        const test::Block block = test::block_of(NoiseStream::bytes(prepared));
        NoiseStream* stream = NoiseStream::create(block.get(), prepared);
        EXPECT_THROW(stream->look_ahead({Epsilon(0.5), random}), std::logic_error);
        EXPECT_FALSE(stream->is_ready());
        stream = NoiseStream::create(block.get(), prepared);
        EXPECT_NO_THROW(stream->look_ahead({Epsilon(1.0), random}));
    }
}

} // namespace
} // namespace dp_counter
