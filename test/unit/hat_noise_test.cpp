// The stream of noise against the matrix L, entry by entry, and its variance with real noise.
#include "core/hat/hat_noise.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "core/hat/hat_choice.hpp"
#include "core/hat/hat_variance.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "core/noise/keystream.hpp"
#include "unit/hat_support.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using test::HatNode;
using test::OwnedNoise;
using test::OwnedWeights;

class HatNoiseTest : public testing::TestWithParam<HatLevels> {};
INSTANTIATE_TEST_SUITE_P(Specs, HatNoiseTest, testing::ValuesIn(test::sample_specs()));

/// Hands out given noise and remembers which: the draws of a level come in the order of its nodes.
class Recorder {
public:
    explicit Recorder(const HatWeights& weights, std::uint64_t seed, std::int64_t limit)
        : weights_(weights), random_(seed), noise_(-limit, limit) {}

    std::int64_t operator()(int scale) {
        const std::int64_t value = noise_(random_);
        const int level = weights_.spec().level_of(scale);
        const HatNode node{level, next_[level]++};
        EXPECT_EQ(scale, weights_.scale_of(node.first, node.second));
        drawn_[node] = value;
        return value;
    }
    [[nodiscard]] const std::map<HatNode, std::int64_t>& drawn() const { return drawn_; }
    [[nodiscard]] std::int64_t count(int level) { return next_[level]; }

private:
    const HatWeights& weights_;
    std::mt19937_64 random_;
    std::uniform_int_distribution<std::int64_t> noise_;
    std::map<int, std::int64_t> next_;
    std::map<HatNode, std::int64_t> drawn_;
};

mpq_class fraction(FixedPoint noise) {
    mpq_class result(test::to_mpz(noise), mpz_class(1) << 64);
    result.canonicalize();
    return result;
}

mpq_class by_matrix(const HatWeights& weights, std::int64_t t,
                    const std::map<HatNode, std::int64_t>& drawn) {
    mpq_class sum = 0;
    for (const auto& [node, weight] : test::row_of_l(weights, t)) {
        mpq_class noise(mpz_class(static_cast<long>(drawn.at(node))),
                        mpz_class(1) << static_cast<unsigned>(weights.lattice_bits() * node.first));
        noise.canonicalize();
        sum += weight * noise;
    }
    return sum;
}

TEST_P(HatNoiseTest, StreamIsLTimesTheNoise) {
    const OwnedWeights weights(GetParam());
    for (const std::int64_t limit :
         {std::int64_t{1}, std::int64_t{1} << 20, std::int64_t{1} << 47}) {
        OwnedNoise state(*weights);
        Recorder draw(*weights, 7, limit);
        for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
            const FixedPoint noise = state.noise->advance(*weights, draw);
            ASSERT_EQ(fraction(noise), by_matrix(*weights, t, draw.drawn())) << "t = " << t;
        }
        EXPECT_EQ(draw.count(0), GetParam().horizon);
        for (int l = 1; l < GetParam().height; ++l)
            EXPECT_EQ(draw.count(l), GetParam().level[l - 1].knots);
    }
}

// What an enemy reads in memory after step t says nothing about single steps before.
TEST_P(HatNoiseTest, ForgetsTheNoiseOfPassedSteps) {
    const OwnedWeights weights(GetParam());
    OwnedNoise state(*weights);
    Recorder draw(*weights, 11, std::int64_t{1} << 47); // by chance equal: below 1e-9 in all
    int ahead = 0;
    for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
        (void)state.noise->advance(*weights, draw);
        for (std::int64_t node = 0; node < draw.count(0); ++node) {
            const std::int64_t noise = draw.drawn().at(HatNode{0, node});
            const bool is_found = memmem(state.block.get(), HatNoise::bytes(*weights), &noise,
                                         sizeof noise) != nullptr;
            ASSERT_FALSE(is_found && node + 1 < t) << "step " << node + 1 << " after " << t;
            ahead += is_found && node >= t ? 1 : 0;
        }
    }
    // At the end all knots have been used, too.
    for (const auto& [node, noise] : draw.drawn())
        ASSERT_TRUE(node.first == 0 || memmem(state.block.get(), HatNoise::bytes(*weights), &noise,
                                              sizeof noise) == nullptr)
            << "level " << node.first << " node " << node.second;
    // That is, the test can see the noise of steps to come, where there is any.
    EXPECT_TRUE(ahead > 0 || GetParam().height == 1 || GetParam().horizon <= 2);
}

// One node's noise at a time: the entries of L.
TEST_P(HatNoiseTest, StreamHasTheEntriesOfL) {
    const OwnedWeights weights(GetParam());
    std::vector<std::map<HatNode, mpq_class>> rows(1);
    for (std::int64_t t = 1; t <= GetParam().horizon; ++t)
        rows.push_back(test::row_of_l(*weights, t));
    constexpr int kBits = 51; // times 2^lattice_bits still within the limit of a state's integers
    for (int level = 0; level < GetParam().height; ++level) {
        for (std::int64_t node = 0;; ++node) {
            OwnedNoise state(*weights);
            std::int64_t next = 0;
            const auto draw = [&](int scale) {
                return GetParam().level_of(scale) == level && next++ == node
                           ? std::int64_t{1} << kBits
                           : 0;
            };
            for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
                const FixedPoint noise = state.noise->advance(*weights, draw);
                const auto& row = rows[static_cast<std::size_t>(t)];
                const auto at = row.find(HatNode{level, node});
                const mpq_class weight = at == row.end() ? mpq_class(0) : at->second;
                const int shift = kBits - (*weights).lattice_bits() * level;
                const mpq_class expected =
                    weight * mpq_class(mpz_class(1) << static_cast<unsigned>(shift));
                ASSERT_EQ(fraction(noise), expected)
                    << "t = " << t << " level " << level << " node " << node;
            }
            if (next <= node)
                break; // the level has no more nodes
        }
    }
}

TEST_P(HatNoiseTest, SampleHasTheWeightsOfTheStream) {
    const OwnedWeights weights(GetParam());
    for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
        const auto row = test::row_of_l(*weights, t);
        std::mt19937_64 random(static_cast<std::uint64_t>(t));
        std::map<HatNode, std::int64_t> drawn;
        auto next = row.begin();
        const FixedPoint noise = HatNoise::sample(*weights, t, [&](int scale) {
            EXPECT_EQ(scale, (*weights).scale_of(next->first.first, next->first.second));
            const auto value = static_cast<std::int64_t>(random() >> 14) - (std::int64_t{1} << 49);
            drawn[next->first] = value;
            ++next;
            return value;
        });
        ASSERT_EQ(next, row.end()); // as many draws as weights that are not zero
        ASSERT_EQ(fraction(noise), by_matrix(*weights, t, drawn)) << "t = " << t;
    }
}

TEST_P(HatNoiseTest, EndsAtTheHorizon) {
    const OwnedWeights weights(GetParam());
    OwnedNoise state(*weights);
    const auto draw = [](int) { return std::int64_t{1}; };
    for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
        EXPECT_NO_THROW(state.noise->advance(*weights, draw));
        EXPECT_EQ(state.noise->step(), t);
    }
    EXPECT_THROW(state.noise->advance(*weights, draw), Error);
}

TEST_P(HatNoiseTest, MayBeMovedAndWrittenOutAtAnyStep) {
    const OwnedWeights weights(GetParam());
    OwnedNoise steady(*weights);
    Recorder steady_draw(*weights, 3, 1 << 30);
    Recorder moving_draw(*weights, 3, 1 << 30);
    auto moving = std::make_unique<OwnedNoise>(*weights);
    auto equal = std::make_unique<OwnedWeights>(GetParam()); // with none of their rows made
    for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
        auto copy = std::make_unique<OwnedNoise>(*weights);
        if (t % 2 == 0) {
            std::memcpy(copy->block.get(), moving->block.get(), HatNoise::bytes(*weights));
        } else {
            std::vector<std::int64_t> integers;
            moving->noise->for_each_integer([&](std::int64_t& v) { integers.push_back(v); });
            std::size_t i = 0;
            copy->noise->for_each_integer([&](std::int64_t& v) { v = integers[i++]; });
            equal = std::make_unique<OwnedWeights>(GetParam());
            ASSERT_TRUE(copy->noise->is_state_at(**equal, t - 1));
        }
        moving = std::move(copy);
        ASSERT_TRUE(steady.noise->advance(*weights, steady_draw) ==
                    moving->noise->advance(**equal, moving_draw))
            << "t = " << t;
        ASSERT_TRUE(moving->noise->is_state_at(*weights, t));
    }
}

/// Whether the state would be taken with `value` added to its integer number `place`.
bool is_taken_with(HatNoise& noise, const HatWeights& weights, std::int64_t t, std::size_t place,
                   std::int64_t value) {
    const auto add = [&](std::int64_t addend) {
        std::size_t at = 0;
        noise.for_each_integer([&](std::int64_t& v) { v += at++ == place ? addend : 0; });
    };
    add(value);
    const bool is_taken = noise.is_state_at(weights, t);
    add(-value);
    return is_taken;
}

constexpr std::size_t kSums = 7;  // step and sums, then the levels:
constexpr std::size_t kPlace = 7; // a window, a partial knot, and then five that tell a place
constexpr std::size_t kPlaceEnd = 12;

// Every integer that tells a place, of open and of waiting levels, follows from the step.
TEST_P(HatNoiseTest, RefusesAStateThatWasNeverThere) {
    const OwnedWeights weights(GetParam());
    Recorder draw(*weights, 5, 1);
    OwnedNoise state(*weights);
    for (std::int64_t t = 0; t <= GetParam().horizon; ++t) {
        if (t > 0)
            (void)state.noise->advance(*weights, draw);
        ASSERT_TRUE(state.noise->is_state_at(*weights, t));
        ASSERT_FALSE(state.noise->is_state_at(*weights, t + 1));
        ASSERT_FALSE(is_taken_with(*state.noise, *weights, t, 0, 1)) << t;
        std::size_t level = kSums;
        for (int l = 1; l < GetParam().height; ++l) {
            for (std::size_t i = kPlace; i < kPlaceEnd; ++i)
                for (const std::int64_t by : {-1, 1, 2})
                    ASSERT_FALSE(is_taken_with(*state.noise, *weights, t, level + i, by))
                        << t << " " << l << " " << i << " " << by;
            level += kPlaceEnd + static_cast<std::size_t>((*weights).level(l).queue);
        }
    }
}

// Noise that no stream can have: it would leave the integers that sums of it are taken in.
TEST_P(HatNoiseTest, RefusesNoiseBeyondItsLimits) {
    const OwnedWeights weights(GetParam());
    OwnedNoise state(*weights);
    (void)state.noise->advance(*weights, [](int) { return 0; });
    constexpr std::int64_t kLimit = std::int64_t{1} << 58;
    if (GetParam().height == 1) { // the sum of all noise, an integer below 2^64, and nothing else
        EXPECT_TRUE(is_taken_with(*state.noise, *weights, 1, 2, 1));
        for (const std::size_t place : {1, 3, 4, 5, 6})
            EXPECT_FALSE(is_taken_with(*state.noise, *weights, 1, place, 1)) << place;
    }
    std::size_t level = kSums;
    for (int l = 1; l < GetParam().height; ++l) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(kHatWindow); ++i)
            for (const int sign : {-1, 1}) {
                EXPECT_TRUE(
                    is_taken_with(*state.noise, *weights, 1, level + i, sign * (kLimit - 1)));
                EXPECT_FALSE(is_taken_with(*state.noise, *weights, 1, level + i, sign * kLimit));
            }
        level += kPlaceEnd + static_cast<std::size_t>((*weights).level(l).queue);
    }
}

/// How many nodes of each level have been drawn.
struct Count {
    std::int64_t drawn[HatLevels::kMaxHeight] = {};
    std::int64_t operator()(int level) {
        ++drawn[level];
        return 0;
    }
};

TEST(HatNoise, BeginsWithTheNodesNearItsStart) {
    for (const std::int64_t horizon : {1000, 1000000, 1000000000}) {
        const HatLevels spec = choose_hat(horizon, Epsilon(1));
        const OwnedWeights weights(spec);
        OwnedNoise state(*weights);
        Count count;
        for (int t = 1; t <= 10; ++t) {
            (void)state.noise->advance(*weights, count);
            Count once;
            (void)HatNoise::sample(*weights, t, once);
            EXPECT_LE(once.drawn[0], 32);
            EXPECT_EQ(once.drawn[1], 1);
        }
        EXPECT_LE(count.drawn[0], 32) << horizon;
        EXPECT_EQ(count.drawn[1], 1) << horizon;
        EXPECT_EQ(count.drawn[2], 0) << horizon;
        // A level opens when the one below it has passed its first cell, not before.
        std::int64_t first = spec.level[0].offset;
        std::int64_t block = 1;
        for (int l = 2; l < spec.height && first < 10000; ++l) {
            while (state.noise->step() < first)
                (void)state.noise->advance(*weights, count);
            EXPECT_EQ(count.drawn[l], 0) << horizon << " " << l;
            (void)state.noise->advance(*weights, count);
            EXPECT_GT(count.drawn[l], 0) << horizon << " " << l;
            block *= spec.level[l - 2].radix;
            first += block * spec.level[l - 1].offset;
        }
    }
}

TEST(HatNoise, ForgetsNothingThatItNeedsAndKeepsLittle) {
    const OwnedWeights weights(
        hat_levels(1000000, std::vector<HatShape>{{21, 28}, {21, 24}, {21, 18}, {20, 13}}));
    EXPECT_LE(HatNoise::bytes(*weights), 8U * 450);
}

TEST(HatNoise, ThrowsWhereNoiseLeavesItsInteger) {
    const OwnedWeights weights(hat_levels(100, std::vector<HatShape>{{19, 12}}));
    OwnedNoise state(*weights);
    EXPECT_THROW(state.noise->advance(*weights, [](int) { return std::int64_t{1} << 60; }), Error);
    const OwnedWeights flat(hat_levels(100, {}));
    OwnedNoise sums(*flat);
    const auto draw = [](int) { return std::int64_t{1} << 62; };
    EXPECT_NO_THROW(sums.noise->advance(*flat, draw));
    EXPECT_THROW(sums.noise->advance(*flat, draw), Error);
}

// Chernoff's bound for a knot less its share of the children: neither this nor the noise of the
// knot itself gets to 2^58, where a stored state is refused, whatever k and epsilon are.
TEST(HatNoise, StaysFarBelowItsLimits) {
    const auto log_probability = [](double scale, double radix) {
        double best = 0;
        for (double rate = 0.02; rate < 1; rate += 0.02) { // times the scale
            double log_moment = -std::log1p(-rate * rate); // of the knot, then of two cells
            for (double share = 0.5 / radix; share < 1; share += 1 / radix)
                log_moment -= 2 * std::log1p(-rate * rate * share * share);
            best = std::min(best, std::log(2) + log_moment - rate * 0x1p58 / scale);
        }
        return best;
    };
    int seen = 0;
    for (const std::int32_t k : {2, 16, 40, 64, 65, 256, 1024, 4096})
        for (const double epsilon : {Epsilon::kMin, 1e-8, 1e-7, 1e-6, 1e-3, 1.0})
            for (std::size_t levels = 1; levels <= 4; ++levels) {
                const std::vector<HatShape> shapes(levels, HatShape{k, k / 2});
                const HatLevels spec =
                    fitted_hat_levels(kMaxHorizon, shapes, PrivacyUnit(Epsilon(epsilon)));
                if (!hat_fits(spec, PrivacyUnit(Epsilon(epsilon))))
                    continue; // refused
                ++seen;
                for (int l = 1; l < spec.height; ++l)
                    EXPECT_LT(log_probability(
                                  hat_scale(spec, PrivacyUnit(Epsilon(epsilon)), l).value(), k),
                              -140)
                        << k << " " << epsilon << " level " << l << " of " << levels;
            }
    EXPECT_GT(seen, 150);
}

double in_units(FixedPoint noise) {
    return std::ldexp(static_cast<double>(noise), -64);
}

// With real noise: the mean square over many streams is the variance that is reported.
TEST(HatNoise, VarianceIsTheReportedOne) {
    Keystream random;
    const std::vector<HatLevels> specs = {
        hat_levels(60, std::vector<HatShape>{{5, 4}, {4, 2}}),
        hat_levels(100, std::vector<HatShape>{{19, 12}}),
        hat_levels(24, std::vector<HatShape>{{9, 4, -2}}, HatLevels::End::fading),
        hat_levels(60, std::vector<HatShape>{{5, 4}, {4, 2, -1}}, HatLevels::End::fading),
    };
    for (const HatLevels& spec : specs) {
        const Epsilon epsilon(0.25);
        const OwnedWeights weights(spec);
        std::vector<DiscreteLaplace> samplers;
        for (int scale = 0; scale < spec.scales(); ++scale)
            samplers.emplace_back(hat_scale(spec, epsilon, scale));
        const auto draw = [&](int scale) {
            return test::draw(samplers[static_cast<std::size_t>(scale)], random);
        };
        constexpr int kStreams = 6000;
        const auto horizon = static_cast<std::size_t>(spec.horizon);
        std::vector<double> squares(horizon + 1, 0.0);
        double sampled = 0;
        const std::int64_t middle = spec.horizon / 2 + 1;
        for (int i = 0; i < kStreams; ++i) {
            OwnedNoise state(*weights);
            for (std::size_t t = 1; t <= horizon; ++t) {
                const double noise = in_units(state.noise->advance(*weights, draw));
                squares[t] += noise * noise / kStreams;
            }
            const double once = in_units(HatNoise::sample(*weights, middle, draw));
            sampled += once * once / kStreams;
        }
        double mean = 0;
        for (std::size_t t = 1; t <= horizon; ++t) {
            const double expected =
                hat_variance_at(*weights, epsilon, static_cast<std::int64_t>(t));
            // A mean square of n values has a relative deviation of at most sqrt(5/n). Eight of
            // them: below 1e-12 even for a single Laplace variable (saddle point), 226 times.
            EXPECT_NEAR(squares[t] / expected, 1, 8 * std::sqrt(5.0 / kStreams))
                << spec << " " << t;
            mean += squares[t] / spec.horizon;
        }
        EXPECT_NEAR(mean / hat_mse(*weights, epsilon), 1, 8 * std::sqrt(5.0 / kStreams)) << spec;
        EXPECT_NEAR(sampled / hat_variance_at(*weights, epsilon, middle), 1,
                    8 * std::sqrt(5.0 / kStreams));
    }
}

} // namespace
} // namespace dp_counter
