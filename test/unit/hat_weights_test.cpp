// A = L R and the sensitivity, in exact rationals, with the very weights that the code uses.
#include "core/hat/hat_weights.hpp"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "unit/hat_support.hpp"

namespace dp_counter {
namespace {

using test::HatNode;
using test::OwnedWeights;

class HatWeightsTest : public testing::TestWithParam<HatLevels> {};
INSTANTIATE_TEST_SUITE_P(Specs, HatWeightsTest, testing::ValuesIn(test::sample_specs()));

TEST_P(HatWeightsTest, EveryColumnOfRHasWeightOneOnEachLevelButAFadingTop) {
    const OwnedWeights weights(GetParam());
    const int q = (*weights).lattice_bits();
    for (std::int64_t step = 0; step < GetParam().horizon; ++step) {
        const auto column = test::column_of_r(*weights, step);
        ASSERT_EQ(column.size(), static_cast<std::size_t>(GetParam().height));
        for (std::size_t l = 0; l < column.size(); ++l) {
            mpq_class sum = 0;
            for (const auto& [node, weight] : column[l]) {
                ASSERT_GE(node, 0);
                if (l > 0) {
                    ASSERT_LT(node, GetParam().level[l - 1].knots);
                }
                ASSERT_GT(weight, 0);
                sum += weight;
                // On the lattice of the level's noise.
                const mpq_class unit =
                    weight *
                    mpq_class(mpz_class(1) << static_cast<unsigned>(q * static_cast<int>(l)));
                ASSERT_EQ(unit.get_den(), 1);
            }
            if (GetParam().end == HatLevels::End::fading && l + 1 == column.size()) {
                ASSERT_LE(sum, 1) << "step " << step;
            } else {
                ASSERT_EQ(sum, 1) << "step " << step << " level " << l;
            }
        }
    }
}

// The l1 sensitivity: with the parameters that the samplers get, what the nodes of a step spend of
// epsilon together is all of it, and never more.
TEST_P(HatWeightsTest, NoStepSpendsMoreThanEpsilon) {
    const OwnedWeights weights(GetParam());
    const int q = GetParam().lattice_bits;
    const bool fading = GetParam().end == HatLevels::End::fading;
    mpq_class all = 0;
    for (std::int64_t step = 0; step < GetParam().horizon; ++step) {
        mpq_class spent = 0;
        int level = 0;
        for (const auto& nodes : test::column_of_r(*weights, step)) {
            for (const auto& [node, weight] : nodes)
                spent += weight * test::price(GetParam(), (*weights).scale_of(level, node));
            ++level;
        }
        ASSERT_LE(spent, 1) << "step " << step;
        // Rounding down the units of two levels leaves at most one unit of one.
        const mpq_class slack(fading ? 1 : 0, GetParam().height << GetParam().fade_bits());
        ASSERT_GE(spent + slack, 1) << "step " << step;
        all += spent;
    }
    if (q == kMostLatticeBits) {
        EXPECT_GT(all, mpq_class(98, 100) * static_cast<long>(GetParam().horizon));
    }
}

// Which node has which scale, from the definition.
TEST_P(HatWeightsTest, WhatAFadingTopLeavesGoesToTheLevelsBelow) {
    const HatLevels& spec = GetParam();
    const OwnedWeights weights(spec);
    for (int l = 0; l < spec.height; ++l) {
        const std::int64_t nodes = l == 0 ? spec.horizon : spec.level[l - 1].knots;
        const bool shares = l + 1 < spec.height && l + 1 + spec.fade_levels() >= spec.height;
        for (std::int64_t k = 0; k < nodes; ++k) {
            const mpq_class left = test::left_by_top(*weights, l, k);
            if (spec.end == HatLevels::End::level) {
                ASSERT_EQ(left, 0);
            }
            const mpz_class units = mpq_class(left * (1 << spec.fade_bits())).get_num() /
                                    mpq_class(left * (1 << spec.fade_bits())).get_den();
            const auto expected = shares ? units.get_si() : 0;
            ASSERT_EQ((*weights).left_of(l, k), expected) << "level " << l << " node " << k;
            const int scale = (*weights).scale_of(l, k);
            ASSERT_LT(scale, spec.scales());
            ASSERT_EQ(spec.level_of(scale), l);
            mpq_class share(expected, std::max(1, spec.fade_levels()) << spec.fade_bits());
            share.canonicalize();
            share = (share + 1) / spec.height;
            ASSERT_EQ(test::price(spec, scale), share) << "level " << l << " node " << k;
        }
    }
}

TEST_P(HatWeightsTest, LTimesRIsTheSumUpToT) {
    const OwnedWeights weights(GetParam());
    const std::int64_t horizon = GetParam().horizon;
    std::vector<std::vector<std::map<std::int64_t, mpq_class>>> r;
    for (std::int64_t step = 0; step < horizon; ++step)
        r.push_back(test::column_of_r(*weights, step));
    for (std::int64_t t = 1; t <= horizon; ++t) {
        const auto row = test::row_of_l(*weights, t);
        for (std::int64_t step = 0; step < horizon; ++step) {
            mpq_class entry = 0;
            for (int l = 0; l < GetParam().height; ++l)
                for (const auto& [node, weight] :
                     r[static_cast<std::size_t>(step)][static_cast<std::size_t>(l)]) {
                    const auto at = row.find(HatNode{l, node});
                    if (at != row.end())
                        entry += at->second * weight;
                }
            ASSERT_EQ(entry, step < t ? 1 : 0) << "t = " << t << " step " << step;
        }
    }
}

TEST_P(HatWeightsTest, WeightsAreSane) {
    const OwnedWeights weights(GetParam());
    for (std::int64_t t = 1; t <= GetParam().horizon; ++t)
        for (const auto& [node, weight] : test::row_of_l(*weights, t))
            ASSERT_LE(std::abs(weight.get_d()), 1.2) << "t = " << t;
}

TEST(HatWeights, MayBeMoved) {
    const HatLevels spec = hat_levels(90, std::vector<HatShape>{{8, 4}, {8, 4}});
    const OwnedWeights weights(spec);
    test::HatBlock copy(HatWeights::bytes(spec));
    std::memcpy(copy.get(), weights.weights, HatWeights::bytes(spec));
    const auto* moved = static_cast<const HatWeights*>(copy.get());
    for (std::int64_t t = 1; t <= 90; ++t)
        EXPECT_EQ(test::row_of_l(*weights, t), test::row_of_l(*moved, t));
}

// The tables decide released values, so they must not depend on the machine: a checksum.
TEST(HatWeights, TablesAreTheSameEverywhere) {
    const OwnedWeights weights(hat_levels(5000, std::vector<HatShape>{{16, 15}, {14, 11}, {6, 4}}));
    std::uint64_t sum = 0;
    for (const std::int64_t t : {1, 17, 100, 1234, 2500, 4321, 4999, 5000})
        hat_weights(*weights, t, [&](int l, std::int64_t k, int128 coefficient) {
            const auto bits = static_cast<uint128>(coefficient);
            for (const std::uint64_t word :
                 {static_cast<std::uint64_t>(l), static_cast<std::uint64_t>(k),
                  static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)})
                sum = (sum ^ word) * 0x9E3779B97F4A7C15U;
        });
    EXPECT_EQ(sum, 12991990389270156650U);
}

TEST(HatLevelsTest, RefusesWhatIsOutOfRange) {
    const auto fading = [](std::int32_t radix) {
        return hat_levels(1000, std::vector<HatShape>{{radix, 0}}, HatLevels::End::fading);
    };
    EXPECT_NO_THROW((void)fading(kMaxFadingRadix));
    EXPECT_THROW((void)fading(kMaxFadingRadix + 1), Error);
    const auto hat = [](std::int64_t horizon, std::vector<HatShape> shapes) {
        return hat_levels(horizon, shapes);
    };
    EXPECT_THROW((void)hat(0, {}), Error);
    EXPECT_THROW((void)hat(kMaxHorizon + 1, {}), Error);
    EXPECT_EQ(hat(kMaxHorizon, {}).height, 1);
    EXPECT_EQ(hat_levels(10, {}, HatLevels::End::fading), hat(10, {})); // there is nothing to fade
    EXPECT_THROW((void)hat(10, std::vector<HatShape>(1000, {2, 1})), Error);
    EXPECT_THROW((void)hat(10, {{1, 0}}), Error);
    EXPECT_THROW((void)hat(10, {{kMaxHatRadix + 1, 0}}), Error);
    EXPECT_THROW((void)hat(10, {{4, -1}}), Error);
    EXPECT_THROW((void)hat(10, {{4, 17}}), Error);
    EXPECT_THROW((void)hat(10, std::vector<HatShape>(21, {2, 1})), Error);
    EXPECT_NO_THROW((void)hat(10, std::vector<HatShape>(20, {2, 1})));
}

TEST(HatLevelsTest, GivesEachLevelItsLattice) {
    const HatLevels spec = hat_levels(1000, std::vector<HatShape>{{17, 12}, {14, 10}});
    EXPECT_EQ(spec.lattice_bits, 6);
    EXPECT_EQ(hat_scale(spec, Epsilon(1), 0).sensitivity, 3U);
    EXPECT_EQ(hat_scale(spec, Epsilon(1), 1).sensitivity, 3U << 6);
    EXPECT_EQ(hat_scale(spec, Epsilon(1), 2).sensitivity, 3U << 12);
    EXPECT_NEAR(hat_node_variance(spec, Epsilon(1), 0), 18 - 1.0 / 6, 1e-2);
    EXPECT_NEAR(hat_node_variance(spec, Epsilon(1), 2), 18, 1e-6);
}

} // namespace
} // namespace dp_counter
