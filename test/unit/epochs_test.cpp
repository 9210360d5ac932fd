#include "core/count/epochs.hpp"

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/hat/hat_choice.hpp"
#include "core/hat/hat_variance.hpp"

#include "unit/support.hpp"

namespace dp_counter {
namespace {

TEST(Epochs, CoverAllSteps) {
    EXPECT_EQ(epoch_begin(0), 0);
    for (int e = 0; e < kEpochs; ++e) {
        EXPECT_EQ(epoch_of(epoch_begin(e) + 1), e);
        EXPECT_EQ(epoch_of(epoch_begin(e) + epoch_length(e)), e);
        const HatLevels spec = epoch_levels(e, Epsilon(1));
        EXPECT_EQ(spec.horizon, epoch_length(e));
        EXPECT_TRUE(hat_fits(spec, Epsilon(1)));
    }
    EXPECT_EQ(epoch_begin(kEpochs - 1) + epoch_length(kEpochs - 1), kMaxHorizon);
}

// So the plan of the current epoch tells whether a release is rounded, whatever is carried.
TEST(Epochs, KeepFractionsOnceTheyHaveThem) {
    bool mixes = false;
    for (double epsilon = 0.5; epsilon < 50; epsilon *= 1.7)
        for (const std::optional<std::int32_t> k : {std::optional<std::int32_t>{}, {5}, {14}})
            for (const std::optional<Mechanism> mechanism :
                 {std::optional<Mechanism>{}, {Mechanism::hat}}) {
                bool before = false;
                for (int e = 0; e < 12; ++e) {
                    bool here = false;
                    try {
                        here = make_mechanism({kUnbounded, Epsilon(epsilon), k, mechanism}, e)
                                   .is_fractional();
                    } catch (const Error&) { // no lattice for so high a tower
                        break;
                    }
                    EXPECT_TRUE(here || !before) << "epsilon " << epsilon << " epoch " << e;
                    mixes = mixes || (here && !before && e > 0);
                    before = here;
                }
            }
    EXPECT_TRUE(mixes);
}

// At most 1.5 times the error of a stream that knows its horizon, exactly computed: epochs end at
// powers of ten (the first one after 14 steps, so that T = 10 lies within it).
TEST(Epochs, CostLittleMoreThanAKnownHorizon) {
    for (const double value : {0.01, 0.5, 1.0}) {
        const Epsilon epsilon(value);
        StreamError errors({kUnbounded, epsilon, {}, {}});
        const auto told = [&](std::int64_t t) {
            return make_mechanism({t, epsilon, {}, {}}).mse();
        };
        double sum = 0;
        for (std::int64_t t = 1; t <= 10; ++t)
            sum += errors.variance_at(t);
        EXPECT_LE(sum / 10, 1.5 * told(10)) << "epsilon " << value;

        sum = 0;
        for (int epoch = 0; epoch_begin(epoch + 1) <= 10000000; ++epoch) {
            sum += static_cast<double>(epoch_length(epoch)) * report_of(errors, epoch).mse;
            const std::int64_t t = epoch_begin(epoch + 1);
            EXPECT_LE(sum / static_cast<double>(t), 1.5 * told(t))
                << "T = " << t << " epsilon " << value;
        }
    }
}

/// What an epoch costs itself and those after it.
double cost(const HatLevels& levels, PrivacyUnit unit) {
    const HatWeightsBlock weights(levels);
    return hat_levels_mse(levels, unit) + hat_variance_at(weights.get(), unit, levels.horizon) +
           (levels.height > 1 ? kRoundingVariance : 0);
}

// At a large epsilon an epoch has noise per step up to where that becomes dear.
TEST(Epochs, TakeNoisePerStepWhereItIsBetter) {
    int flats = 0;
    for (double epsilon = 0.5; epsilon < 32; epsilon *= 1.05)
        for (int epoch = 0; epoch < 14; ++epoch) {
            const Epsilon e(epsilon);
            const HatLevels levels = epoch_levels(epoch, e);
            EXPECT_LE(cost(levels, e), cost(hat_levels(epoch_length(epoch), {}), e))
                << "epsilon " << epsilon << " epoch " << epoch;
            EXPECT_FALSE(levels.height == 1 && epsilon <= 2) << epsilon << " epoch " << epoch;
            flats += levels.height == 1 ? 1 : 0;
        }
    EXPECT_GT(flats, 50);
}

// Where noise is so great that hats do not fit, the paper's trees serve an epoch, whatever was
// asked for: a stream does not end there.
TEST(Epochs, HaveTreesWhereHatsDoNotFit) {
    int trees = 0;
    for (const std::optional<Mechanism> mechanism :
         {std::optional<Mechanism>{}, {Mechanism::hat}}) {
        const Request request{kUnbounded, Epsilon(1e-9), {}, mechanism};
        for (int epoch = 0; epoch < kEpochs; ++epoch) {
            const MechanismSpec spec = make_mechanism(request, epoch);
            EXPECT_EQ(spec.is_tree(), !hat_fits(epoch_levels(epoch, request.unit), request.unit));
            trees += spec.is_tree() ? 1 : 0;
        }
        StreamError errors(request);
        EXPECT_GT(test::half_width_of(errors, kMaxHorizon, 0.95), 0);
    }
    EXPECT_GT(trees, 4);
    EXPECT_LT(trees, 2 * kEpochs - 10);
}

// With a k, too, which is of the first epochs then.
TEST(Epochs, HaveOtherMechanismsWhereHatsOfThisRadixDoNotFit) {
    int others = 0;
    for (const double epsilon : {1.0, 1e-3})
        for (const std::int32_t k : {2, 3, 5, 16}) {
            const Request request{kUnbounded, Epsilon(epsilon), k, Mechanism::hat};
            ASSERT_EQ(make_mechanism(request).radix, k);
            for (int epoch = 0; epoch < kEpochs; ++epoch) {
                const MechanismSpec spec = make_mechanism(request, epoch);
                EXPECT_EQ(spec.horizon, epoch_length(epoch));
                others += spec.radix != k ? 1 : 0;
            }
        }
    EXPECT_GT(others, 20);
    EXPECT_LT(others, 6 * kEpochs);
}

// The table of energies says what is computed without it, and serves every usual epsilon.
TEST(Epochs, HaveKnownEnergies) {
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
        const HatLevels spec = epoch_levels(epoch, Epsilon(1));
        const KnownEnergy* known = known_energy(spec);
        ASSERT_NE(known, nullptr) << "run tools/make_energy_table.cpp: epoch " << epoch;
        const HatWeightsBlock weights(spec);
        const HatRowNorms mean = hat_mean_row_norms(weights.get());
        const HatRowNorms peak = hat_row_norms_at(weights.get(), known->peak_step);
        for (int l = 0; l < HatLevels::kMaxHeight; ++l) {
            EXPECT_NEAR(known->mean.level[l], mean.level[l], 1e-9 * (1 + mean.level[l]));
            EXPECT_NEAR(known->peak.level[l], peak.level[l], 1e-9 * (1 + peak.level[l]));
        }
        for (const double epsilon : {0.05, 0.3, 2.0}) {
            ASSERT_EQ(known_energy(epoch_levels(epoch, Epsilon(epsilon))), known);
            const std::int64_t found = hat_peak(weights.get(), Epsilon(epsilon));
            const double greatest = hat_variance_at(weights.get(), Epsilon(epsilon), found);
            EXPECT_NEAR(hat_max_variance(weights.get(), Epsilon(epsilon)), greatest,
                        1e-3 * greatest)
                << "epoch " << epoch << " epsilon " << epsilon;
        }
    }
    EXPECT_EQ(known_energy(choose_hat(1000, Epsilon(1))), nullptr);
}

} // namespace
} // namespace dp_counter
