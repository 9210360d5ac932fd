#include "core/epochs.hpp"

#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "core/hat_choice.hpp"
#include "unit/hat_support.hpp"

namespace dp_counter {
namespace {

TEST(Epochs, CoverAllSteps) {
    EXPECT_EQ(epoch_begin(0), 0);
    for (int e = 0; e < kEpochs; ++e) {
        EXPECT_EQ(epoch_of(epoch_begin(e) + 1), e);
        EXPECT_EQ(epoch_of(epoch_begin(e) + epoch_length(e)), e);
        const HatSpec spec = epoch_spec(e, Epsilon(1));
        EXPECT_EQ(spec.horizon, epoch_length(e));
        EXPECT_TRUE(hat_fits(spec, Epsilon(1)));
    }
    EXPECT_EQ(epoch_begin(kEpochs - 1) + epoch_length(kEpochs - 1), kMaxHorizon);
}

// At most 1.45 times the error of a stream that knows its horizon, exactly computed.
TEST(Epochs, CostLittleMoreThanAKnownHorizon) {
    for (const double value : {0.01, 0.5, 1.0}) {
        const Epsilon epsilon(value);
        EpochErrors errors(epsilon);
        for (std::int64_t t = 10; t <= 10000000; t *= 10) {
            const double told = hat_spec_mse(choose_hat(t, epsilon), epsilon);
            EXPECT_LE(errors.mse(t), 1.45 * told) << "T = " << t << " epsilon " << value;
        }
    }
}

TEST(Epochs, MeanIsTheMeanOfTheVariances) {
    EpochErrors errors(Epsilon(0.5));
    double sum = 0;
    for (std::int64_t t = 1; t <= 3000; ++t) {
        sum += errors.variance_at(t);
        if (t < 30 || t % 500 == 0) {
            EXPECT_NEAR(errors.mse(t) / (sum / static_cast<double>(t)), 1, 1e-6) << t;
        }
    }
}

// The stream through several epochs: each epoch's engine plus the noise at the ends of those
// before.
TEST(Epochs, CarryTheNoiseOfTheirTotals) {
    const Epsilon epsilon(1);
    std::int64_t next = 0;
    const auto noise = [](std::int64_t i) { return (i * 7919 % 2001 - 1000) << 6; };
    const auto draw = [&](int) { return noise(next++); };

    auto plan = std::make_unique<test::OwnedPlan>(epoch_spec(0, epsilon));
    auto block = std::make_unique<test::HatBlock>(EpochNoise::bytes(**plan));
    EpochNoise* stream = EpochNoise::create(block->get(), **plan);

    std::int64_t t = 0;
    std::int64_t carried = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {
        std::int64_t alone_next = next;
        test::OwnedNoise alone(**plan);
        std::int64_t last = 0;
        ASSERT_EQ(stream->epoch(), epoch);
        while (!stream->is_over()) {
            last = alone.noise->advance(**plan, [&](int) { return noise(alone_next++); });
            ASSERT_EQ(stream->advance(**plan, draw), carried + last);
            ASSERT_EQ(stream->step(), ++t);
        }
        carried += last;
        auto next_plan = std::make_unique<test::OwnedPlan>(epoch_spec(epoch + 1, epsilon));
        auto next_block = std::make_unique<test::HatBlock>(EpochNoise::bytes(**next_plan));
        stream = EpochNoise::next(next_block->get(), **next_plan, *stream);
        plan = std::move(next_plan);
        block = std::move(next_block);
    }
    EXPECT_EQ(t, epoch_begin(4));
}

TEST(Epochs, SampleDrawsOnlyTopNodesOfClosedEpochs) {
    const Epsilon epsilon(1);
    std::map<int, std::unique_ptr<test::OwnedPlan>> plans;
    const auto plan_of = [&](int e) -> const HatPlan& {
        auto& plan = plans[e];
        if (!plan)
            plan = std::make_unique<test::OwnedPlan>(epoch_spec(e, epsilon));
        return **plan;
    };
    for (const std::int64_t t : {1, 14, 15, 100, 101, 1000, 1001, 54321}) {
        std::map<int, std::map<int, int>> draws;
        const std::int64_t noise = EpochNoise::sample(t, plan_of, [&](int epoch, int level) {
            ++draws[epoch][level];
            return std::int64_t{0};
        });
        EXPECT_EQ(noise, 0);
        const int last = epoch_of(t);
        for (int e = 0; e < last; ++e) {
            const HatSpec& spec = plan_of(e).spec();
            ASSERT_EQ(draws[e].size(), 1U);
            EXPECT_EQ(draws[e].begin()->first, spec.height - 1);
            EXPECT_EQ(draws[e].begin()->second, spec.level[spec.height - 2].knots);
        }
    }
}

} // namespace
} // namespace dp_counter
