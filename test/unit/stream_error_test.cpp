#include "core/stream_error.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "core/discrete_laplace.hpp"
#include "core/epochs.hpp"
#include "core/keystream.hpp"
#include "core/noise_stream.hpp"
#include "core/plan_cache.hpp"
#include "core/tree_error.hpp"
#include "core/weighted_laplace.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

Request unbounded(double epsilon, std::optional<std::int32_t> k = {},
                  std::optional<Mechanism> mechanism = {}) {
    return {kUnbounded, Epsilon(epsilon), k, mechanism};
}

TEST(StreamError, WithAHorizonIsThatOfThePlan) {
    const Request request{1000, Epsilon(0.5), {}, {}};
    StreamError errors(request);
    const ReleaseError plan(make_plan(request));
    for (std::int64_t t = 0; t <= 1000; t += 37) {
        EXPECT_EQ(errors.variance_at(t), plan.variance_at(t));
        EXPECT_EQ(errors.half_width(t, 0.9), WeightedLaplace(plan.noise_at(t)).half_width(0.9));
        EXPECT_EQ(errors.noise_class(t), plan.noise_class(t));
    }
    EXPECT_THROW((void)errors.variance_at(1001), Error);
}

TEST(StreamError, WithoutAHorizonCarriesTheClosedTotals) {
    // By the nodes of the paper's trees, one after the other.
    StreamError errors(unbounded(1, 3, Mechanism::subtraction));
    const DigitSystem digits = DigitSystem::offset(3);
    double carried = 0;
    std::int64_t t = 0;
    for (int epoch = 0; epoch < 4; ++epoch) {
        const std::int64_t length = epoch_length(epoch);
        const double node =
            LaplaceScale{Epsilon(1), static_cast<uint128>(digits.height(length))}.variance();
        for (std::int64_t step = 1; step <= length; ++step) {
            ++t;
            ASSERT_NEAR(errors.variance_at(t),
                        carried + node * static_cast<double>(nodes_at(digits, step)), 1e-6)
                << t;
        }
        carried += node * static_cast<double>(nodes_at(digits, length));
    }
    EXPECT_EQ(errors.variance_at(0), 0);
    EXPECT_EQ(errors.half_width(0, 0.95), 0);
    EXPECT_THROW((void)errors.variance_at(-1), Error);
    EXPECT_THROW((void)errors.half_width(kMaxHorizon + 1, 0.5), Error);
}

TEST(StreamError, IntervalsHoldAsOftenAsTheySay) {
    // 20000 releases at steps of three epochs: the width holds the noise with the confidence, and
    // one less does not, within 6 standard errors (false alarm below 1e-8 each).
    constexpr int kRuns = 20000;
    Keystream random;
    PlanCache cache;
    EXPECT_FALSE(make_epoch_plan(unbounded(5), 1).is_fractional()); // whole noise is carried
    EXPECT_TRUE(make_epoch_plan(unbounded(5), 2).is_fractional());
    for (const Request& request : {unbounded(0.5), unbounded(0.5, 7), unbounded(5)})
        for (const std::int64_t t : {10, 50, 700}) {
            StreamError errors(request);
            const int last = epoch_of(t);
            const std::int64_t width = errors.half_width(t, 0.9);
            int held = 0;
            int narrower = 0;
            for (int run = 0; run < kRuns; ++run) {
                ExactNoise noise = 0;
                for (int epoch = 0; epoch <= last; ++epoch) {
                    const PreparedPlan& prepared = cache.prepare(request, epoch);
                    const std::int64_t step =
                        epoch < last ? epoch_length(epoch) : t - epoch_begin(last);
                    noise += sample_noise(prepared, step, [&](int level) {
                        return prepared.sampler(level).draw(random);
                    });
                }
                held += std::abs(rounded(noise)) <= width ? 1 : 0;
                narrower += std::abs(rounded(noise)) < width ? 1 : 0;
            }
            const double error = 6 * std::sqrt(0.09 / kRuns);
            EXPECT_GT(held, (0.9 - error) * kRuns) << t;
            EXPECT_LT(narrower, (0.9 + error) * kRuns) << t;
        }
}

} // namespace
} // namespace dp_counter
