#include "core/hat/hat_choice.hpp"

#include <cmath>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "core/tree/tree_variance.hpp"
#include "unit/hat_support.hpp"

namespace dp_counter {
namespace {

const Epsilon kSmall(1e-3);
constexpr double kUnit = 1e-6; ///< figures in units of 1/epsilon^2

double chosen_mse(std::int64_t horizon, Epsilon epsilon = kSmall) {
    return hat_levels_mse(choose_hat(horizon, epsilon), epsilon);
}

/// The paper's subtraction mechanism at its best k, odd or even, continuous noise, epsilon = 1.
double paper_mse(std::int64_t horizon) {
    double best = 1e300;
    for (int k = 3; k <= 200; ++k) {
        const DigitSystem system = DigitSystem::offset(k);
        const double h = system.height(horizon);
        best = std::min(best, 2 * h * h * static_cast<double>(total_nodes(system, horizon)) /
                                  static_cast<double>(horizon));
    }
    return best;
}

TEST(HatChoice, BeatsThePaperAtItsBestRadix) {
    std::vector<std::int64_t> horizons;
    for (std::int64_t t = 50; t <= 1000; t += 7)
        horizons.push_back(t);
    for (std::int64_t base = 100; base <= 1000000000; base *= 10)
        for (const std::int64_t t : {base - 1, base, base + 1, 2 * base, 5 * base})
            if (t <= 1000000000)
                horizons.push_back(t);
    for (const std::int64_t base : {2, 3, 7, 16, 19, 20})
        for (std::int64_t power = base; power <= 1000000000 / base; power *= base)
            for (const std::int64_t t : {power, power + 1, (power - 1) / 2, (power - 1) / 2 + 1})
                if (t >= 50)
                    horizons.push_back(t);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> exponent(std::log(50.0), std::log(1e9));
    for (int i = 0; i < 60; ++i)
        horizons.push_back(static_cast<std::int64_t>(std::exp(exponent(random))));
    for (const std::int64_t horizon : horizons)
        EXPECT_LT(chosen_mse(horizon) * kUnit, paper_mse(horizon) * 0.80) << horizon;
}

TEST(HatChoice, IsAtLeastAsGoodAsTheDesignsTable) {
    const std::pair<std::int64_t, double> rows[] = {
        {100, 37.9},     {1000, 98.8},     {1024, 99.9},        {10000, 206.1},
        {100000, 370.9}, {1000000, 598.0}, {1000000000, 1834.0}};
    for (const auto& [horizon, mse] : rows)
        EXPECT_LT(chosen_mse(horizon) * kUnit, mse * 0.98) << horizon;
}

// The table has no holes: the error grows evenly with the horizon.
TEST(HatChoice, ErrorGrowsSmoothly) {
    double last = 0;
    for (std::int64_t t = 1; t <= 3000; t += t < 300 ? 1 : 11) {
        const double mse = chosen_mse(t) * kUnit;
        EXPECT_GT(mse, last * 0.993) << t;
        if (t > 64) {
            EXPECT_LT(mse, last * 1.03) << t;
        }
        last = mse;
    }
    double before = chosen_mse(3000) * kUnit;
    for (double t = 3000; t < 1e13; t *= 1.37) {
        const double mse = chosen_mse(static_cast<std::int64_t>(t * 1.37)) * kUnit;
        EXPECT_GT(mse, before) << t;
        EXPECT_LT(mse, before * 1.16) << t;
        before = mse;
    }
}

TEST(HatChoice, TakesNoisePerStepForTinyHorizons) {
    for (const std::int64_t t : {1, 2, 5})
        EXPECT_EQ(choose_hat(t, kSmall).height, 1) << t;
    EXPECT_NEAR(chosen_mse(5) * kUnit, 6, 1e-5);
    // With a large epsilon almost all noise is zero, and one level is best for longer.
    EXPECT_EQ(choose_hat(1000, Epsilon(12)).height, 1);
}

TEST(HatChoice, IsNeverWorseThanNoisePerStep) {
    for (const double value : {1e-9, 1e-3, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0, 1e3, 1e9})
        for (const std::int64_t t : {1, 7, 20, 50, 300, 5000, 100000, 1000000}) {
            const Epsilon epsilon(value);
            const double flat = hat_levels_mse(hat_levels(t, {}), epsilon);
            EXPECT_LE(chosen_mse(t, epsilon), flat * (1 + 1e-9))
                << "epsilon " << value << " T " << t;
        }
}

TEST(HatChoice, RefusesWhereLatticesDoNotFit) {
    const Epsilon tiny(1e-9);
    // First come coarser lattices, at little cost.
    const HatLevels coarse = choose_hat(1000000000, tiny);
    EXPECT_GT(coarse.height, 1);
    EXPECT_LT(coarse.lattice_bits, 5);
    EXPECT_TRUE(hat_fits(coarse, tiny));
    EXPECT_LT(hat_levels_mse(coarse, tiny) * 1e-18, chosen_mse(1000000000) * kUnit * 1.05);
    EXPECT_THROW((void)choose_hat(kMaxHorizon, tiny), Error);
    EXPECT_NO_THROW((void)choose_hat(kMaxHorizon, Epsilon(1)));
    EXPECT_THROW((void)uniform_hat(kMaxHorizon, 18, tiny), Error);
    EXPECT_THROW((void)uniform_hat(kMaxHorizon, 2, Epsilon(1)), Error);
    EXPECT_NO_THROW((void)uniform_hat(1000000000, 16, tiny));
}

TEST(HatChoice, UniformRadicesAreUniform) {
    for (const std::int32_t k : {2, 3, 14, 19, 20, 101})
        for (const std::int64_t t : {1, 10, 100, 1000, 12345, 1000000}) {
            const HatLevels spec = uniform_hat(t, k, Epsilon(1));
            EXPECT_GT(spec.height, 1);
            for (int l = 1; l < spec.height; ++l)
                EXPECT_EQ(spec.level[l - 1].radix, k);
        }
}

// Where the first knot lies is felt by the first steps alone.
TEST(HatChoice, LongStreamsBeginWithASmallKnot) {
    for (const std::int64_t horizon : {30000, 200000, 1000000, 50000000, 1000000000}) {
        const HatLevels spec = choose_hat(horizon, kSmall);
        EXPECT_LE(spec.level[0].offset, 12) << horizon;
        std::vector<HatShape> shapes;
        for (int l = 1; l < spec.height; ++l)
            shapes.push_back({spec.level[l - 1].radix, spec.level[l - 1].offset});
        const auto mse_from = [&](std::int32_t offset) {
            shapes.front().offset = offset;
            return hat_levels_mse(hat_levels(horizon, shapes), kSmall);
        };
        const double here = mse_from(spec.level[0].offset);
        for (std::int32_t offset = 14; offset <= 30; offset += 4)
            EXPECT_LT(here, mse_from(offset) * 1.0001) << horizon << " " << offset;
        const HatWeightsBlock weights(spec);
        const HatWeightsBlock larger(hat_levels(horizon, shapes));
        EXPECT_LT(hat_variance_at(weights.get(), kSmall, 10),
                  hat_variance_at(larger.get(), kSmall, 10) * 0.8);
    }
}

TEST(HatChoice, ImprovesOnTheHatsOfTheDesign) {
    const auto mse = [](const HatLevels& spec) { return hat_levels_mse(spec, kSmall) * kUnit; };
    const auto max = [](const HatLevels& spec) {
        return hat_max_variance(HatWeightsBlock(spec).get(), kSmall) * kUnit;
    };
    const auto uniform = [](std::int64_t horizon, std::int32_t k) {
        return uniform_hat(horizon, k, kSmall);
    };
    EXPECT_LT(mse(uniform(100000, 25)), 370.9);
    EXPECT_LT(max(uniform(100000, 25)), 531);
    EXPECT_LT(mse(uniform(1000000, 21)), 598.0);
    EXPECT_LT(mse(uniform(1000000000, 16)), 1834);
    EXPECT_LT(max(uniform(1000000000, 16)), 2363);
    // What is chosen has a smaller mean and a smaller maximum.
    for (const auto& [horizon, mean, greatest] :
         {std::tuple(100, 37.9, 57.6), std::tuple(1000, 98.8, 142.0),
          std::tuple(10000, 206.1, 288.0), std::tuple(100000, 370.9, 531.0),
          std::tuple(1000000, 598.0, 831.0), std::tuple(1000000000, 1834.0, 2363.0)}) {
        EXPECT_LT(mse(choose_hat(horizon, kSmall)), mean) << horizon;
        EXPECT_LT(max(choose_hat(horizon, kSmall)), greatest) << horizon;
    }
    EXPECT_LE(mse(choose_hat(1000000000, kSmall)), mse(uniform(1000000000, 16)));
}

TEST(HatChoice, IsDeterministic) {
    EXPECT_EQ(choose_hat(123456789, Epsilon(1)), choose_hat(123456789, Epsilon(1)));
}

} // namespace
} // namespace dp_counter
