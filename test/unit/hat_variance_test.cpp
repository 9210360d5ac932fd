// The reported errors against enumeration and the design's tables.
#include "core/hat/hat_variance.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "core/hat/hat_choice.hpp"
#include "unit/hat_support.hpp"

namespace dp_counter {
namespace {

using test::OwnedWeights;

/// Epsilon so small that discrete noise is continuous noise; figures in units of 1/epsilon^2.
const Epsilon kSmall(1e-3);
constexpr double kUnit = 1e-6;

class HatErrorTest : public testing::TestWithParam<HatLevels> {};
INSTANTIATE_TEST_SUITE_P(Specs, HatErrorTest, testing::ValuesIn(test::sample_specs()));

TEST_P(HatErrorTest, VarianceIsTheSquaredNormOfTheRow) {
    const OwnedWeights weights(GetParam());
    for (const double value : {0.001, 1.0, 20.0}) {
        const Epsilon epsilon(value);
        for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
            double variance = 0;
            for (const auto& [node, weight] : test::row_of_l(*weights, t))
                variance += weight.get_d() * weight.get_d() *
                            hat_node_variance(GetParam(), epsilon,
                                              (*weights).scale_of(node.first, node.second));
            ASSERT_NEAR(hat_variance_at(*weights, epsilon, t) / variance, 1, 1e-9) << "t = " << t;
        }
    }
}

TEST_P(HatErrorTest, MeanAndMaximumAgreeWithEnumeration) {
    const OwnedWeights weights(GetParam());
    for (const double value : {0.001, 1.0, 20.0}) {
        const Epsilon epsilon(value);
        double sum = 0;
        double most = 0;
        for (std::int64_t t = 1; t <= GetParam().horizon; ++t) {
            const double variance = hat_variance_at(*weights, epsilon, t);
            sum += variance;
            most = std::max(most, variance);
        }
        const double mse = sum / static_cast<double>(GetParam().horizon);
        EXPECT_NEAR(hat_mse(*weights, epsilon) / mse, 1, 1e-5);
        EXPECT_DOUBLE_EQ(hat_max_variance(*weights, epsilon), most);
    }
}

// Periods and classes of cells at work, and the search for the maximum.
TEST(HatVariance, AgreesWithEnumerationOnLargerTrees) {
    const std::vector<HatLevels> specs = {
        hat_levels(5000, std::vector<HatShape>{{17, 12}, {14, 10}}),
        hat_levels(10000, std::vector<HatShape>{{14, 14}, {14, 11}, {13, 9}}),
        hat_levels(20011, std::vector<HatShape>{{5, 3}, {4, 3}, {7, 4}, {3, 2}, {9, 4}}),
        hat_levels(20011, std::vector<HatShape>{{3, 4}, {2, 3}, {2, 2}, {3, 1}, {40, 30}}),
        hat_levels(30000, std::vector<HatShape>{{21, 28}, {40, 31, 1}}),
        hat_levels(5000, std::vector<HatShape>{{17, 12}, {14, 10, -1}}, HatLevels::End::fading),
        hat_levels(10000, std::vector<HatShape>{{14, 14}, {14, 11}, {13, 9, -1}},
                   HatLevels::End::fading),
        hat_levels(20011, std::vector<HatShape>{{5, 3}, {4, 3}, {7, 4}, {3, 2}, {9, 4, -2}},
                   HatLevels::End::fading),
    };
    for (const HatLevels& spec : specs) {
        const OwnedWeights weights(spec);
        double sum = 0;
        double most = 0;
        for (std::int64_t t = 1; t <= spec.horizon; ++t) {
            const double variance = hat_variance_at(*weights, kSmall, t);
            sum += variance;
            most = std::max(most, variance);
        }
        EXPECT_NEAR(hat_mse(*weights, kSmall) * static_cast<double>(spec.horizon) / sum, 1, 1e-5)
            << spec;
        EXPECT_LE(hat_max_variance(*weights, kSmall), most * (1 + 1e-12)) << spec;
        EXPECT_GE(hat_max_variance(*weights, kSmall), most * (1 - 1e-3)) << spec;
    }
}

TEST(HatVariance, SamplesWideCellsWithinATenthOfAPercent) {
    const HatLevels spec = hat_levels(100000, std::vector<HatShape>{{100, 70}, {100, 70}});
    const OwnedWeights weights(spec);
    double sum = 0;
    for (std::int64_t t = 1; t <= spec.horizon; ++t)
        sum += hat_variance_at(*weights, kSmall, t);
    EXPECT_NEAR(hat_mse(*weights, kSmall) * static_cast<double>(spec.horizon) / sum, 1, 1e-3);
}

struct HatRowOfDesign {
    std::int64_t horizon;
    std::vector<HatShape> shapes;
    double mse, max;
};

// Six knots weighted by least squares are better than the design's two at the same spec.
TEST(HatVariance, ImprovesOnTheHatsOfTheDesign) {
    const HatRowOfDesign rows[] = {
        {100, {{19, 12}}, 37.9, 57.6},
        {1000, {{17, 12}, {14, 10, 1}}, 98.8, 142},
        {10000, {{14, 14}, {14, 11}, {13, 9}}, 206.1, 288},
    };
    for (const HatRowOfDesign& row : rows) {
        const OwnedWeights weights(hat_levels(row.horizon, row.shapes));
        EXPECT_LT(hat_mse(*weights, kSmall) * kUnit, row.mse);
        EXPECT_GT(hat_mse(*weights, kSmall) * kUnit, row.mse * 0.96);
        EXPECT_LT(hat_max_variance(*weights, kSmall) * kUnit, row.max);
    }
}

} // namespace
} // namespace dp_counter
