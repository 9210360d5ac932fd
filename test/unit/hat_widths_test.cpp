// The fast half widths of hats against the exact computation of each.
#include "core/accuracy/hat_widths.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/accuracy/noise_distribution.hpp"

namespace dp_counter {
namespace {

struct Hat {
    ReleaseError errors;
    HatWidths widths;

    Hat(std::int64_t horizon, double epsilon, std::optional<std::int32_t> k, double confidence)
        : errors(make_mechanism({horizon, Epsilon(epsilon), k, Mechanism::hat})),
          widths(*errors.weights(), errors.spec().unit, {}, confidence) {}

    std::optional<std::int64_t> at(std::int64_t t) { return widths.at(*errors.weights(), t); }
};

TEST(HatWidths, AreTheLeastOrOneMore) {
    std::mt19937_64 random(20'261'122);
    const auto between = [&](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(random);
    };
    constexpr std::int64_t kHorizons[] = {10'000, 33'333, 100'000, 1'000'000, 1'000'000'000};
    constexpr double kConfidences[] = {0.5, 0.8, 0.95, 0.99, 0.999};
    int answers = 0;
    int exact = 0;
    int questions = 0;
    for (const std::int64_t horizon : kHorizons)
        for (const double confidence : kConfidences) {
            const double epsilon = std::pow(10, between(-1.3, 1));
            Hat hat(horizon, epsilon, {}, confidence);
            for (int i = 0; i < 60; ++i) {
                // Everywhere, near both ends, and one after the other.
                const double u = between(0, 1);
                const double length = static_cast<double>(horizon);
                std::int64_t t =
                    static_cast<std::int64_t>(i % 3 == 0 ? length * u : std::pow(length, u));
                t = i % 6 == 1 ? horizon - t : t;
                t = std::clamp<std::int64_t>(t, 1, horizon - 3);
                for (const std::int64_t end = t + 3; t < end; ++t) {
                    ++questions;
                    const std::optional<std::int64_t> width = hat.at(t);
                    if (!width)
                        continue;
                    ++answers;
                    const std::int64_t least =
                        NoiseDistribution(hat.errors.noise_at(t)).half_width(confidence);
                    exact += *width == least ? 1 : 0;
                    EXPECT_GE(*width, least) << horizon << ' ' << epsilon << ' ' << t;
                    EXPECT_LE(*width, least + 1) << horizon << ' ' << epsilon << ' ' << t;
                }
            }
        }
    EXPECT_GT(answers, 0.8 * questions); // near the ends there may be none
    EXPECT_GT(exact, 0.7 * answers);     // seven in eight, as measured
}

TEST(HatWidths, AnswerNearlyEverywhere) {
    Hat hat(100'000, 1, {}, 0.95);
    int none = 0;
    for (std::int64_t t = 1; t <= 100'000; t += 7)
        none += hat.at(t) ? 0 : 1;
    EXPECT_LT(none, 20);
    EXPECT_FALSE(hat.at(100'000)); // all weights are 1 there: another distribution
}

TEST(HatWidths, DoNotDependOnWhatWasAskedBefore) {
    Hat forward(100'000, 0.3, {}, 0.9);
    Hat backward(100'000, 0.3, {}, 0.9);
    std::vector<std::optional<std::int64_t>> widths;
    constexpr std::int64_t kStride = 37;
    for (std::int64_t t = 1; t < 100'000; t += kStride)
        widths.push_back(forward.at(t));
    for (std::size_t i = widths.size(); i-- > 0;)
        ASSERT_EQ(backward.at(1 + static_cast<std::int64_t>(i) * kStride), widths[i]) << i;
}

TEST(HatWidths, AreWhatAForecastTells) {
    // It remembers all steps of the first horizon, and has this class answer for the second again.
    MechanismCache cache;
    Forecast forecast(cache);
    for (const std::int64_t horizon : {100'000, 200'000}) {
        Hat hat(horizon, 1, {}, 0.95);
        const Request request{horizon, Epsilon(1), {}, Mechanism::hat};
        for (int round = 0; round < 2; ++round)
            for (std::int64_t t = 1; t <= horizon; t += horizon / 300) {
                const std::optional<std::int64_t> width = hat.at(t);
                ASSERT_TRUE(!width || forecast.half_width(request, t, 0.95) == *width) << t;
            }
    }
}

TEST(HatWidths, CarryTheNoiseOfClosedEpochs) {
    const Request request{kUnbounded, Epsilon(1.0), {}, {}};
    StreamError errors(request);
    MechanismCache cache;
    Forecast forecast(cache);
    int exact = 0;
    int questions = 0;
    for (double t = 50; t < 1e9; t *= 1.3, ++questions) {
        const auto step = static_cast<std::int64_t>(t);
        const std::int64_t width = forecast.half_width(request, step, 0.95);
        const std::int64_t least = errors.half_width(step, 0.95);
        exact += width == least ? 1 : 0;
        EXPECT_GE(width, least) << step;
        EXPECT_LE(width, least + 1) << step;
    }
    EXPECT_GT(exact, 0.7 * questions);
}

TEST(HatWidths, StayOutOfWhatIsNotWorthIt) {
    EXPECT_FALSE(Hat(1000, 1, {}, 0.95).widths.is_useful());
    EXPECT_FALSE(Hat(1'000'000, 1, 100, 0.95).widths.is_useful());
    EXPECT_FALSE(Hat(1'000'000, 0.01, {}, 0.999999).widths.is_useful());
    EXPECT_TRUE(Hat(1'000'000, 1, {}, 0.95).widths.is_useful());
}

} // namespace
} // namespace dp_counter
