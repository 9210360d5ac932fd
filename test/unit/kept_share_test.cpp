#include "core/accuracy/kept_share.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

/// Units with 1, 2, ... events, and one of the last cell's more: the share that a bound keeps.
std::vector<ReleasedPart> parts_of(const std::vector<double>& units, int bound) {
    std::vector<ReleasedPart> parts;
    for (std::size_t i = 0; i < units.size(); ++i) {
        const auto events = static_cast<double>(i + 1);
        parts.push_back({units[i], std::min(events, static_cast<double>(bound)), events});
    }
    return parts;
}

TEST(KeptShare, IsExactWithoutNoise) {
    const auto parts = parts_of({10, 5, 0, 2}, 2); // 28 events, of which 24 count
    const KeptShare share = kept_share(parts, 1e-9);
    EXPECT_DOUBLE_EQ(share.share, 24.0 / 28);
    EXPECT_NEAR(share.low, 24.0 / 28, 1e-8);
    EXPECT_NEAR(share.high, 24.0 / 28, 1e-8);
}

TEST(KeptShare, SaysThatItCannotTell) {
    for (const auto& parts : {parts_of({}, 1), parts_of({0, 0}, 1), parts_of({-9, -4}, 1)}) {
        const KeptShare share = kept_share(parts, 1);
        EXPECT_TRUE(std::isnan(share.share));
        EXPECT_EQ(share.low, 0);
        EXPECT_EQ(share.high, 1);
    }
    const KeptShare noise = kept_share(parts_of({3, 1}, 1), 10);
    EXPECT_EQ(noise.share, 0.8);
    EXPECT_EQ(noise.low, 0);
    EXPECT_EQ(noise.high, 1);
    const KeptShare none = kept_share(parts_of({1000, -200}, 1), 1); // no share at all fits
    EXPECT_EQ(none.share, 1);
    EXPECT_EQ(none.low, 0);
    EXPECT_EQ(none.high, 1);
}

/// The ends are where the test's statistic reaches as far as its noise.
TEST(KeptShare, EndsWhereTheTestDoes) {
    const auto parts = parts_of({500, 300, 200, 100}, 2);
    constexpr double kScale = 9;
    const KeptShare share = kept_share(parts, kScale);
    const double reach = kScale * std::log(40 / (1 + std::exp(-1 / kScale)));
    for (const double end : {share.low, share.high}) {
        double statistic = 0;
        double square = 0;
        for (const ReleasedPart& part : parts) {
            statistic += (part.kept - end * part.all) * part.released;
            square += std::pow(part.kept - end * part.all, 2);
        }
        EXPECT_NEAR(std::abs(statistic), reach * std::sqrt(square), 1e-6);
    }
    EXPECT_LT(share.low, share.share);
    EXPECT_GT(share.high, share.share);
}

// 20,000 replays each. What holds the truth with 95 % does so in less than 94.1 % of them with a
// probability of 1e-8, or less; what does with 98.5 % in more than 99 % with one of 1e-10.
TEST(KeptShare, IntervalHoldsTheTruth) {
    constexpr int kReplays = 20'000;
    Keystream random;
    const std::vector<double> kPopulations[] = {
        {300, 200, 100, 50, 20, 10, 5, 3, 2, 1}, {1000, 0}, {0, 0, 0, 0, 400}, {90, 60, 30}};
    for (const double epsilon : {0.1, 1.0, 3.0}) {
        const DiscreteLaplace sampler(PrivacyUnit(Epsilon(epsilon)).scale(1));
        for (const auto& units : kPopulations)
            for (const int bound : {1, 3}) {
                const auto truth = kept_share(parts_of(units, bound), 1e-9).share;
                int held = 0;
                for (int replay = 0; replay < kReplays; ++replay) {
                    auto released = units;
                    for (double& number : released)
                        number += static_cast<double>(test::draw(sampler, random));
                    const KeptShare share = kept_share(parts_of(released, bound), 1 / epsilon);
                    held += share.low <= truth && truth <= share.high ? 1 : 0;
                }
                EXPECT_GE(held, 18'820) << epsilon << " " << units.size() << " " << bound;
            }
    }
}

} // namespace
} // namespace dp_counter
