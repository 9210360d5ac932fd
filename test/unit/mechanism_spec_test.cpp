#include "core/count/mechanism_spec.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/count/mechanism_cache.hpp"

namespace dp_counter {
namespace {

Request request(std::int64_t horizon, double epsilon = 1, std::optional<std::int32_t> k = {},
                std::optional<Mechanism> mechanism = {}) {
    return {horizon, Epsilon(epsilon), k, mechanism};
}

TEST(MechanismSpec, KAloneMeansThePapersAlgorithm) {
    const MechanismSpec spec = make_mechanism(request(1000, 0.5, 19));
    EXPECT_EQ(spec.mechanism, Mechanism::subtraction);
    EXPECT_EQ(spec.radix, 19);
    EXPECT_EQ(spec.height, 3);
    EXPECT_EQ(spec.scale().value(), 6);
}

TEST(MechanismSpec, ChoosesTheLeastErrorOfAllRadices) {
    // Against trying every radix, at noise levels where the discrete variance is far from the
    // continuous one as well.
    for (const double epsilon : {1e-3, 1.0, 3.0, 20.0})
        for (const Mechanism mechanism : {Mechanism::plain, Mechanism::subtraction})
            for (const std::int64_t horizon : {1, 2, 3, 9, 10, 11, 12, 33, 49, 50, 77, 100, 300,
                                               777, 1001, 5000, 65000, 140000}) {
                double best = make_mechanism(request(horizon, epsilon, 2, mechanism)).mse();
                for (int k = 3; k <= kMaxRadix; k += k < 2000 ? 1 : 97)
                    best = std::min(best,
                                    make_mechanism(request(horizon, epsilon, k, mechanism)).mse());
                EXPECT_LE(make_mechanism(request(horizon, epsilon, {}, mechanism)).mse(),
                          best * (1 + 1e-12))
                    << horizon << " " << epsilon;
            }
}

TEST(MechanismSpec, ChoosesNoMechanismThatATreeBeats) {
    // Where the trees are not asked as well as where they are.
    for (const double epsilon : {0.1, 0.5, 0.51, 1.0, 1.5, 2.0, 2.01, 3.0, 6.0})
        for (const std::int64_t horizon :
             {5, 11, 12, 20, 33, 47, 64, 65, 66, 80, 113, 150, 300, 640, 777, 5000, 100000, 777777})
            for (const Mechanism tree : {Mechanism::plain, Mechanism::subtraction})
                EXPECT_LE(make_mechanism(request(horizon, epsilon)).mse(),
                          make_mechanism(request(horizon, epsilon, {}, tree)).mse() * (1 + 1e-12))
                    << horizon << " " << epsilon;
}

TEST(MechanismSpec, OneLevelIsBestForTinyHorizons) {
    const MechanismSpec spec = make_mechanism(request(5));
    EXPECT_EQ(spec.height, 1);
    EXPECT_NEAR(make_mechanism(request(5, 1e-6)).mse() * 1e-12, 6, 1e-3); // 2 (T + 1) / 2
}

// Up to 2000 steps the default is at most as bad as noise per step, as two levels of blocks of any
// length, for a usual epsilon with a line between the blocks' ends too, and as it was itself. The
// first two from their definitions.
TEST(MechanismSpec, NothingSimpleIsBetterForShortStreams) {
    constexpr double kBeforeFading[] = {
#include "unit/errors_before_fading.inc"
    };
    constexpr int kMost = 2000;
    static_assert(std::size(kBeforeFading) == kMost);
    const auto node = [](double epsilon, int height) {
        const double q = std::exp(-epsilon / height);
        return 2 * q / ((1 - q) * (1 - q));
    };
    for (const double epsilon : {0.01, 0.1, 1.0, 2.0, 5.0}) {
        std::vector<double> blocks(kMost + 1, HUGE_VAL);
        for (int length = 2; length <= kMost; ++length) {
            double nodes = 0;
            double lines = 0;
            for (int t = 1; t <= kMost; ++t) {
                const double whole = t / length; // NOLINT(bugprone-integer-division)
                const double rest = t % length;
                const double part = rest / length;
                nodes += whole + rest;
                lines += whole + part * part + rest - rest * part;
                const double best = epsilon > 2 ? nodes : std::min(nodes, lines);
                blocks[t] = std::min(blocks[t], best / t);
            }
        }
        for (int t = 1; t <= kMost; ++t) {
            const double mse = make_mechanism(request(t, epsilon)).mse();
            const double slack = 1e-5 * mse;
            EXPECT_LE(mse, node(epsilon, 1) * (t + 1) / 2 + slack) << t << " " << epsilon;
            EXPECT_LE(mse, node(epsilon, 2) * blocks[t] + 1 / 12.0 + slack) << t << " " << epsilon;
            if (epsilon == 1) {
                EXPECT_LE(mse, kBeforeFading[t - 1] * (1 + 1e-5)) << t;
            }
        }
    }
}

TEST(MechanismSpec, IsTheSameForEqualRequests) {
    for (std::int64_t horizon = 1; horizon < 3000; horizon += 7) {
        const MechanismSpec a = make_mechanism(request(horizon));
        const MechanismSpec b = make_mechanism(request(horizon));
        EXPECT_EQ(a.mechanism, b.mechanism);
        EXPECT_EQ(a.radix, b.radix);
        EXPECT_EQ(a.height, b.height);
    }
}

TEST(MechanismSpec, ServesTheWholeRangeOfHorizonsAndRadices) {
    for (const std::int64_t horizon : {std::int64_t{1}, std::int64_t{1} << 40, kMaxHorizon})
        for (const std::optional<std::int32_t> k :
             {std::optional<std::int32_t>{}, std::optional<std::int32_t>{2},
              std::optional<std::int32_t>{kMaxRadix}}) {
            const MechanismSpec spec = make_mechanism(request(horizon, 1e-9, k));
            if (spec.is_tree()) {
                EXPECT_GE(spec.digits().capacity(spec.height), horizon);
            }
            EXPECT_GT(spec.mse(), 0);
        }
}

TEST(MechanismSpec, RefusesWhatIsOutOfRange) {
    EXPECT_THROW((void)make_mechanism(request(-5)), Error);
    EXPECT_THROW((void)make_mechanism(request(kMaxHorizon + 1)), Error);
    EXPECT_THROW((void)make_mechanism(request(10, 1, 1)), Error);
    EXPECT_THROW((void)make_mechanism(request(10, 1, kMaxRadix + 1)), Error);
    EXPECT_THROW((void)mechanism_from_name("Plain"), Error);
    EXPECT_THROW((void)mechanism_from_name(""), Error);
}

TEST(MechanismSpec, NamesRoundTrip) {
    for (const Mechanism mechanism : {Mechanism::subtraction, Mechanism::plain, Mechanism::hat})
        EXPECT_EQ(mechanism_from_name(mechanism_name(mechanism)), mechanism);
}

TEST(MechanismCache, GivesWhatItWasAskedFor) {
    const auto cache = std::make_unique<MechanismCache>();
    for (int round = 0; round < 2; ++round)
        for (std::int64_t horizon = 1; horizon <= 1000; ++horizon) // collides: more than its size
            for (const double epsilon : {0.5, 1.0}) {
                const PreparedMechanism& prepared = cache->prepare(request(horizon, epsilon));
                const MechanismSpec& spec = prepared.spec();
                ASSERT_EQ(spec.horizon, horizon);
                ASSERT_EQ(spec.unit.epsilon, Epsilon(epsilon));
                for (int level = 0; level < spec.height; ++level)
                    ASSERT_EQ(prepared.sampler(level).scale(), spec.scale(level));
            }
    EXPECT_THROW((void)cache->prepare(request(-1)), Error);
}

} // namespace
} // namespace dp_counter
