#include "core/noise/privacy_unit.hpp"

#include <string>

#include <gtest/gtest.h>

#include "core/accuracy/stream_error.hpp"
#include "core/base/error.hpp"
#include "core/count/mechanism_spec.hpp"
#include "core/count/noise_engine.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

std::string message_of(const Request& request) {
    try {
        (void)make_mechanism(request);
    } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::parameter);
        return error.what();
    }
    return "";
}

TEST(PrivacyUnit, ScalesNoiseByTheSensitivity) {
    for (const int height : {1, 3, 63})
        for (const std::int64_t sensitivity : {1, 2, 1000}) {
            const LaplaceScale scale = PrivacyUnit(Epsilon(0.1), sensitivity).scale(height, 5);
            EXPECT_EQ(scale.epsilon, Epsilon(0.1));
            EXPECT_TRUE(scale.sensitivity == static_cast<uint128>(height * sensitivity * 32));
        }
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN})
        EXPECT_THROW(PrivacyUnit(Epsilon(1.0), bad), Error);
}

// The noise depends on epsilon / sensitivity alone, to the last bit where that is a double: plans,
// errors, and every number that a stream draws.
TEST(PrivacyUnit, IsAsGoodAsALesserEpsilon) {
    for (const std::optional<Mechanism> mechanism : {std::optional<Mechanism>{},
                                                     {Mechanism::hat},
                                                     {Mechanism::subtraction},
                                                     {Mechanism::plain}})
        for (const std::int64_t horizon : {std::int64_t{7}, std::int64_t{300}, kUnbounded})
            for (const double epsilon : {0.25, 4.0, 32.0}) {
                const Request many{horizon, PrivacyUnit(Epsilon(epsilon), 4), {}, mechanism};
                const Request one{horizon, Epsilon(epsilon / 4), {}, mechanism};
                const PreparedMechanism theirs(make_mechanism(many));
                const PreparedMechanism ours(make_mechanism(one));
                ASSERT_EQ(theirs.spec().mechanism, ours.spec().mechanism);
                ASSERT_EQ(theirs.spec().radix, ours.spec().radix);
                if (!ours.spec().is_tree()) {
                    ASSERT_EQ(theirs.spec().levels, ours.spec().levels);
                }
                ASSERT_EQ(theirs.spec().mse(), ours.spec().mse());
                StreamError their_errors(many);
                StreamError our_errors(one);
                ASSERT_EQ(test::half_width_of(their_errors, 7, 0.9),
                          test::half_width_of(our_errors, 7, 0.9));
                ASSERT_FALSE(their_errors.noise_class(7) == our_errors.noise_class(7));

                test::Seeded their_random(7);
                test::Seeded our_random(7);
                const test::Block their_block = test::block_of(NoiseEngine::bytes(theirs));
                const test::Block our_block = test::block_of(NoiseEngine::bytes(ours));
                NoiseEngine* their_engine = NoiseEngine::create(their_block.get(), theirs);
                NoiseEngine* our_engine = NoiseEngine::create(our_block.get(), ours);
                for (int t = 0; t < 7; ++t) {
                    const auto their_noise = their_engine->advance(theirs, [&](int level) {
                        return test::draw(theirs.sampler(level), their_random);
                    });
                    const auto our_noise = our_engine->advance(ours, [&](int level) {
                        return test::draw(ours.sampler(level), our_random);
                    });
                    ASSERT_TRUE(their_noise == our_noise);
                }
            }
}

TEST(PrivacyUnit, RefusesScalesAboveTheGreatest) {
    // Height 1: sensitivity / epsilon up to 2^36, exactly.
    const std::int64_t most = std::int64_t{1} << 36;
    EXPECT_NO_THROW(PrivacyUnit(Epsilon(1.0), most).require_scale(1));
    EXPECT_THROW(PrivacyUnit(Epsilon(1.0), most + 1).require_scale(1), Error);
    EXPECT_THROW(PrivacyUnit(Epsilon(1.0), most / 3 + 1).require_scale(3), Error);
    EXPECT_NO_THROW(PrivacyUnit(Epsilon(1.0), most / 3).require_scale(3));
    EXPECT_NO_THROW(PrivacyUnit(Epsilon(1e9), INT64_MAX / 2).require_scale(1));
    EXPECT_THROW(PrivacyUnit(Epsilon(1e-9), INT64_MAX).require_scale(63), Error);
    EXPECT_NO_THROW(PrivacyUnit(Epsilon(1e-9)).require_scale(63)); // the extreme of counts

    for (const std::optional<Mechanism> mechanism :
         {std::optional<Mechanism>{}, {Mechanism::hat}, {Mechanism::plain}})
        for (const std::int64_t horizon : {std::int64_t{1}, std::int64_t{1000}, kUnbounded})
            EXPECT_EQ(message_of({horizon, PrivacyUnit(Epsilon(0.5), most), {}, mechanism}),
                      "height times sensitivity over epsilon must be at most 2^36, not 1 times "
                      "68719476736 over 0.5");
    EXPECT_EQ(message_of({1000, PrivacyUnit(Epsilon(1.0), most / 2), 19, Mechanism::subtraction}),
              "height times sensitivity over epsilon must be at most 2^36, not 3 times 34359738368 "
              "over 1");
}

} // namespace
} // namespace dp_counter
