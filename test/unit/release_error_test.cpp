#include "core/accuracy/release_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/accuracy/noise_distribution.hpp"
#include "core/count/epochs.hpp"
#include "core/count/mechanism_cache.hpp"
#include "core/count/noise_stream.hpp"
#include "core/hat/hat_choice.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

const std::vector<Request> kRequests = {
    {1, Epsilon(1.0), {}, {}},
    {10, Epsilon(1.0), {}, {}},
    {60, Epsilon(0.5), 5, Mechanism::subtraction},
    {100, Epsilon(0.1), 14, Mechanism::subtraction},
    {100, Epsilon(2.0), 2, Mechanism::plain},
    {1000, Epsilon(1.0), 19, Mechanism::subtraction},
    {1000, Epsilon(1.0), {}, Mechanism::plain},
    {100, Epsilon(1.0), {}, Mechanism::hat},
    {1000, Epsilon(0.2), {}, Mechanism::hat},
    {777, Epsilon(1.0), 6, Mechanism::hat},
    {5, Epsilon(1.0), {}, Mechanism::hat}, // noise per step
};

std::string name(const Request& request) {
    return std::string(mechanism_name(make_mechanism(request).mechanism)) + " " +
           std::to_string(request.horizon);
}

TEST(ReleaseError, MeanAndGreatestAreThoseOfTheSteps) {
    for (const Request& request : kRequests) {
        const ReleaseError errors(make_mechanism(request));
        double total = 0;
        double greatest = 0;
        for (std::int64_t t = 1; t <= request.horizon; ++t) {
            total += errors.variance_at(t);
            greatest = std::max(greatest, errors.variance_at(t));
        }
        const double mse = total / static_cast<double>(request.horizon);
        EXPECT_NEAR(errors.mse(), mse, 1e-5 * mse) << name(request);
        EXPECT_NEAR(errors.max_variance(), greatest, 1e-9 * greatest) << name(request);
        EXPECT_EQ(errors.variance_at(0), 0);
    }
}

TEST(ReleaseError, TheTermsOfTheNoiseHaveTheVariance) {
    for (const Request& request : kRequests) {
        const ReleaseError errors(make_mechanism(request));
        for (std::int64_t t = 0; t <= request.horizon; ++t) {
            const double variance = NoiseDistribution(errors.noise_at(t)).variance();
            const double rounding =
                t > 0 && errors.noise_at(t).denominator != 1 ? kRoundingVariance : 0;
            EXPECT_NEAR(variance + rounding, errors.variance_at(t), 1e-7 * (1 + variance))
                << name(request) << " at " << t;
        }
    }
}

TEST(ReleaseError, EqualClassesHaveEqualNoise) {
    for (const Request& request : kRequests) {
        const ReleaseError errors(make_mechanism(request));
        for (std::int64_t t = 1; t < request.horizon; ++t)
            for (const std::int64_t other : {t + 1, (t * 7) % request.horizon + 1})
                if (errors.noise_class(t) == errors.noise_class(other)) {
                    EXPECT_DOUBLE_EQ(errors.variance_at(t), errors.variance_at(other))
                        << name(request);
                }
    }
    const ReleaseError hat(make_mechanism({1000, Epsilon(1.0), {}, Mechanism::hat}));
    const ReleaseError uniform(make_mechanism({1000, Epsilon(1.0), 14, Mechanism::hat}));
    const ReleaseError longer(make_mechanism({1001, Epsilon(1.0), {}, Mechanism::hat}));
    EXPECT_FALSE(hat.noise_class(5) == uniform.noise_class(5));
    EXPECT_FALSE(hat.noise_class(5) == longer.noise_class(5));
    EXPECT_FALSE(hat.noise_class(5) == hat.noise_class(6));
}

TEST(ReleaseError, DescribesThePlan) {
    const ReleaseError tree(make_mechanism({1000, Epsilon(1.0), 19, Mechanism::subtraction}));
    EXPECT_EQ(tree.radices(), (std::vector<std::int32_t>{19, 19, 19}));
    const ReleaseError hat(make_mechanism({1000, Epsilon(1.0), 14, Mechanism::hat}));
    EXPECT_EQ(hat.radices(), (std::vector<std::int32_t>{14, 14}));
    const ReleaseError flat(make_mechanism({5, Epsilon(1.0), {}, Mechanism::hat}));
    EXPECT_TRUE(flat.radices().empty());

    MechanismCache cache;
    for (const Request& request : kRequests)
        EXPECT_EQ(ReleaseError(make_mechanism(request)).state_bytes(),
                  NoiseStream::bytes(cache.prepare(request)))
            << name(request);
}

TEST(ReleaseError, RefusesStepsOutsideTheHorizon) {
    for (const Request& request : kRequests) {
        const ReleaseError errors(make_mechanism(request));
        for (const std::int64_t t : {std::int64_t{-1}, request.horizon + 1, INT64_MIN, INT64_MAX}) {
            EXPECT_THROW((void)errors.variance_at(t), Error);
            EXPECT_THROW((void)errors.noise_at(t), Error);
            EXPECT_THROW((void)errors.noise_class(t), Error);
        }
    }
}

TEST(Forecast, RemembersWhatItWouldAnswerAnyway) {
    MechanismCache cache;
    Forecast forecast(cache);
    for (int round = 0; round < 2; ++round)
        for (const Request& request : kRequests) {
            const ReleaseError errors(make_mechanism(request));
            const ForecastReport& report = forecast.report(request);
            EXPECT_EQ(report.mse, errors.mse());
            EXPECT_EQ(report.rmse, std::sqrt(errors.mse()));
            EXPECT_EQ(report.max_stddev, std::sqrt(errors.max_variance()));
            EXPECT_EQ(report.state_bytes, errors.state_bytes());
            for (const double confidence : {0.5, 0.95})
                for (std::int64_t t = 0; t <= request.horizon; t += 1 + request.horizon / 7)
                    for (const std::int64_t since : {std::int64_t{0}, t - t / 3})
                        EXPECT_EQ(forecast.half_width(request, t, confidence, since),
                                  test::half_width_of(StreamError(request), t, confidence, since))
                            << name(request) << " at " << t << " since " << since;
        }
    EXPECT_THROW((void)forecast.report({-1, Epsilon(1.0), {}, {}}), Error);
    EXPECT_THROW((void)forecast.half_width(kRequests[0], 2, 0.5), Error);
    EXPECT_THROW((void)forecast.half_width(kRequests[0], 1, 1.5), Error);
}

// One forecast for many requests and epochs, asked back and forth: each answer is that of the
// request and the epoch asked about.
TEST(Forecast, KeepsRequestsAndEpochsApart) {
    MechanismCache cache;
    Forecast forecast(cache);
    const std::vector<Request> requests = {
        {kUnbounded, Epsilon(0.5), {}, {}},
        {kUnbounded, Epsilon(0.5), 19, {}},
        {kUnbounded, Epsilon(0.5), 40, {}},
        {kUnbounded, Epsilon(0.5), 19, Mechanism::hat},
        {kUnbounded, Epsilon(0.5), {}, Mechanism::plain},
        {kUnbounded, Epsilon(0.25), 19, {}},
        {kUnbounded, PrivacyUnit(Epsilon(0.5), 3), 19, {}},
    };
    std::vector<StreamError> expected(requests.begin(), requests.end());
    const auto ask = [&](std::size_t i, std::int64_t t) {
        for (const std::int64_t since : {std::int64_t{0}, t / 2})
            EXPECT_EQ(forecast.half_width(requests[i], t, 0.9, since),
                      test::half_width_of(expected[i], t, 0.9, since))
                << i << " at " << t << " since " << since;
        const int epoch = epoch_of(t);
        EXPECT_EQ(forecast.report(requests[i], epoch).mse, report_of(expected[i], epoch).mse)
            << i << " at " << t;
    };
    for (std::size_t i = 0; i < requests.size(); ++i)
        for (const std::int64_t t : {50, 5, 700, 14, 15, 101, 5, 50, 700})
            ask(i, t);
    for (const std::int64_t t : {700, 5, 50, 14})
        for (std::size_t i = 0; i < requests.size(); ++i)
            ask(i, t);
}

TEST(Forecast, IntervalsCoverTheCountAsOftenAsTheySay) {
    // 20,000 complete streams for each case, each read at three steps with three confidences: 108
    // frequencies, each with a two-sided false alarm rate below 2e-10 (7 sigma, and the skew of a
    // binomial of 200): together below 1e-7. The hit count's standard deviation gets 1 added for
    // where it is nearly 0.
    constexpr double kSigmas = 7;
    constexpr int kStreams = 20'000;
    constexpr double kConfidences[] = {0.5, 0.9, 0.99};
    struct Case {
        Request request;
        std::int64_t steps[3];
    };
    std::vector<Case> cases;
    for (const double epsilon : {0.1, 1.0, 20.0}) {
        cases.push_back({{30, Epsilon(epsilon), 5, Mechanism::subtraction}, {3, 17, 30}});
        cases.push_back({{30, Epsilon(epsilon), 3, Mechanism::plain}, {1, 26, 30}});
        cases.push_back({{30, Epsilon(epsilon), 4, Mechanism::hat}, {2, 23, 30}});
        cases.push_back({{30, Epsilon(epsilon), 5, Mechanism::hat}, {4, 19, 30}});
    }
    Keystream random;
    MechanismCache cache;
    Forecast forecast(cache);
    for (const Case& c : cases) {
        const PreparedMechanism& prepared = cache.prepare(c.request);
        const test::Block block = test::block_of(NoiseStream::bytes(prepared));
        std::int64_t widths[3][3];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                widths[i][j] = forecast.half_width(c.request, c.steps[i], kConfidences[j]);
        int hits[3][3] = {};
        for (int n = 0; n < kStreams; ++n) {
            NoiseStream* stream = NoiseStream::create(block.get(), prepared);
            int next = 0;
            for (std::int64_t t = 1; t <= c.request.horizon; ++t) {
                const std::int64_t noise = stream->advance({c.request.unit, random});
                if (next < 3 && t == c.steps[next]) {
                    for (int j = 0; j < 3; ++j)
                        hits[next][j] += std::abs(noise) <= widths[next][j] ? 1 : 0;
                    ++next;
                }
            }
        }
        const ReleaseError& errors = forecast.errors(c.request).epoch(0);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const auto [low, high] = NoiseDistribution(errors.noise_at(c.steps[i]))
                                             .probability_within(widths[i][j], 1e-6);
                EXPECT_GE(high, kConfidences[j] - 1e-6);
                const double sigma = std::sqrt(kStreams * low * (1 - low)) + 1;
                EXPECT_GT(hits[i][j], kStreams * low - kSigmas * sigma)
                    << name(c.request) << " " << c.request.unit.epsilon.value() << " at "
                    << c.steps[i];
                EXPECT_LT(hits[i][j], kStreams * high + kSigmas * sigma)
                    << name(c.request) << " " << c.request.unit.epsilon.value() << " at "
                    << c.steps[i];
            }
    }
}

} // namespace
} // namespace dp_counter
