#include "core/count/counter_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/release_interval.hpp"
#include "core/accuracy/stream_error.hpp"
#include "core/count/epochs.hpp"
#include "core/tree/tree_variance.hpp"
#include "unit/counter_support.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using test::Counter;
using test::counter_request;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(CounterState, CountsAnyNumberOfEventsPerStepWhereNoiseVanishes) {
    Keystream random;
    for (const std::int64_t horizon : {0, 3000})
        for (const std::optional<std::int32_t> k :
             {std::optional<std::int32_t>{}, {2}, {3}, {19}}) {
            Counter counter(counter_request(horizon, 1e9, k));
            std::int64_t total = 0;
            for (std::int64_t step = 1; step <= 3000; ++step) {
                total += step % 7 == 0 ? 1'000'000'000'000 : step % 3;
                const CounterRelease release = counter.advance(total, random);
                ASSERT_EQ(release.step, step);
                ASSERT_EQ(release.count, total);
                ASSERT_EQ(release.stddev, 0);
            }
        }
}

TEST(CounterState, StopsAtItsHorizonAndSaysSo) {
    Keystream random;
    Counter counter(counter_request(10, 1));
    for (int step = 1; step <= 10; ++step)
        (void)counter.advance(step, random);
    try {
        (void)counter.advance(11, random);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.fault(), Fault::data);
        EXPECT_NE(error.hint(), "");
    }
    EXPECT_EQ(counter.state().step(), 10);
}

TEST(CounterState, SaturatesAReleaseThatDoesNotFit) {
    for (const int128 total : {int128{kMost}, int128{kMost} + 1, int128{1} << 96}) {
        Counter counter(counter_request(10, 1, 11, Mechanism::plain));
        const auto release = counter.advance_with(total, [](int) { return std::int64_t{1}; });
        EXPECT_EQ(release.count, kMost);
        StreamError errors(counter.state().request());
        EXPECT_EQ(clamped_interval(release.count, release_width(errors, release)).high, kMost);
    }
    EXPECT_EQ((StepNoise{1, std::numeric_limits<std::int64_t>::min(), 0}.release(0).count),
              std::numeric_limits<std::int64_t>::min());
}

/// The same noise beside a total and beside one that had an event more at step 3: whatever the
/// totals, the releases differ by this one from then on. (A total that is clamped before the noise
/// is added makes up for the event at the bound: increments differ twice.)
TEST(CounterState, NeighborsDifferByOneEventAtEveryLimit) {
    constexpr std::int64_t kNoise = -(std::int64_t{1} << 61);
    for (const int128 start : {int128{0}, int128{kMost} - 3, int128{kMost} - 1, int128{kMost},
                               int128{kMost} + (int128{1} << 60)}) {
        Counter less(counter_request(20, 1, 21, Mechanism::plain)); // a node a step
        Counter more(counter_request(20, 1, 21, Mechanism::plain));
        int draws = 0;
        int others = 0;
        const auto draw = [](int& made) { return made++ == 0 ? kNoise : 0; };
        for (int step = 1; step <= 20; ++step) {
            const int128 total = start + step;
            const auto a = less.advance_with(total, [&](int) { return draw(draws); });
            const auto b =
                more.advance_with(total + (step >= 3 ? 1 : 0), [&](int) { return draw(others); });
            ASSERT_EQ(a.count, static_cast<std::int64_t>(total + kNoise)) << step;
            ASSERT_EQ(b.count - a.count, step >= 3 ? 1 : 0) << step;
        }
    }
}

/// Gives every draw a number, and keeps a release's noise as the sum of 2^number.
TEST(CounterState, ABoundedCounterUsesTheNodesOfItsTree) {
    for (const std::int32_t k : {2, 3, 4}) {
        Counter counter(counter_request(40, 1, k, Mechanism::plain));
        const DigitSystem digits = DigitSystem::plain(k);
        std::int64_t next = 1;
        std::set<std::int64_t> seen;
        for (std::int64_t t = 1; t <= 40; ++t) {
            const CounterRelease release =
                counter.advance_with(0, [&](int) { return std::exchange(next, next * 2); });
            ASSERT_EQ(__builtin_popcountll(static_cast<unsigned long long>(release.count)),
                      nodes_at(digits, t));
            ASSERT_TRUE(seen.insert(release.count).second);
        }
    }
}

TEST(CounterState, EpochsGrowAndCarryTheClosingNoise) {
    // Beside the counter, the same streams one by one with the same draws.
    Counter counter(counter_request(kUnbounded, 1, 3));
    std::int64_t step = 0;
    std::int64_t carried = 0;
    double carried_variance = 0;
    for (int number = 0; number < 4; ++number) {
        const std::int64_t horizon = epoch_length(number);
        Counter epoch(counter_request(horizon, 1, 3));
        std::int64_t z = horizon;
        std::int64_t mine = horizon;
        CounterRelease expected{};
        CounterRelease release{};
        for (std::int64_t t = 1; t <= horizon; ++t) {
            expected = epoch.advance_with(0, [&](int) { return ++z % 11 - 5; });
            release = counter.advance_with(0, [&](int) { return ++mine % 11 - 5; });
            ASSERT_EQ(release.step, ++step);
            ASSERT_EQ(release.count, carried + expected.count);
            ASSERT_DOUBLE_EQ(release.stddev * release.stddev,
                             carried_variance + expected.stddev * expected.stddev);
        }
        ASSERT_EQ(counter.state().spec().horizon, horizon);
        carried = release.count;
        carried_variance = release.stddev * release.stddev;
    }
    EXPECT_EQ(counter.epochs(), 4);
}

TEST(CounterState, CarriedNoiseIsRoundedTogetherWithTheRest) {
    // Beside the counter, the engine of every epoch with the same draws.
    const Request request = counter_request(kUnbounded, 0.5);
    Counter counter(request);
    FixedPoint carried = 0;
    int fractions = 0;
    for (int number = 0; number < 4; ++number) {
        const PreparedMechanism prepared(make_mechanism(request, number));
        const test::Block block = test::block_of(NoiseEngine::bytes(prepared));
        NoiseEngine* engine = NoiseEngine::create(block.get(), prepared);
        std::int64_t theirs = number;
        std::int64_t mine = number;
        const auto next = [](std::int64_t& z) {
            ++z;
            return z * z % 1009 - 504;
        };
        FixedPoint noise = 0;
        for (std::int64_t t = 1; t <= epoch_length(number); ++t) {
            noise = carried + engine->advance(prepared, [&](int) { return next(theirs); });
            const auto release = counter.advance_with(0, [&](int) { return next(mine); });
            ASSERT_EQ(release.count, rounded(noise)) << t << " in epoch " << number;
        }
        carried = noise;
        fractions += carried % fixed_point(1) != 0 ? 1 : 0;
    }
    EXPECT_GT(fractions, 1); // that is, the test could have seen another rounding
}

TEST(CounterState, StddevWithoutAHorizonIsWhatThePlannerSays) {
    Keystream random;
    for (const double epsilon : {0.3, 5.0}) { // at 5, whole noise comes before fractions
        Counter counter(counter_request(kUnbounded, epsilon));
        StreamError errors(counter_request(kUnbounded, epsilon));
        for (std::int64_t step = 1; step <= 1200; ++step) {
            const CounterRelease release = counter.advance(step, random);
            ASSERT_NEAR(release.stddev * release.stddev, errors.variance_at(step), 1e-6) << step;
        }
    }
}

/// The noise of an event's step lies in `height` nodes of one tree: all epochs have all of epsilon.
TEST(CounterState, EveryEpochHasTheWholeEpsilon) {
    Keystream random;
    Counter counter(counter_request(0, 0.5));
    for (int step = 1; step <= 6000; ++step) {
        (void)counter.advance(step, random);
        const MechanismSpec& spec = counter.state().spec();
        ASSERT_EQ(spec.unit.epsilon.value(), 0.5);
        ASSERT_EQ(counter.prepared().sampler(0).scale(),
                  (LaplaceScale{Epsilon(0.5), static_cast<uint128>(spec.height)}));
    }
}

TEST(CounterState, StddevIsThatOfTheReleases) {
    constexpr int kRuns = 6000;
    Keystream random;
    for (const auto mechanism : {Mechanism::plain, Mechanism::subtraction, Mechanism::hat}) {
        std::map<std::int64_t, double> squares;
        std::map<std::int64_t, double> stddev;
        for (int run = 0; run < kRuns; ++run) {
            Counter counter(counter_request(50, 1, 5, mechanism));
            for (int step = 1; step <= 50; ++step) {
                const CounterRelease release = counter.advance(7 * step, random);
                const auto error = static_cast<double>(release.count - 7 * step);
                squares[step] += error * error;
                stddev[step] = release.stddev;
            }
        }
        // Kurtosis at most 6: 8 standard errors. The heaviest tail is that of the square of a
        // single Laplace variable, whose mean over 6000 strays so far with a probability below
        // 1e-12 (saddle point); there are 200: false-alarm rate below 1e-9.
        for (const auto& [step, sum] : squares)
            EXPECT_NEAR(sum / kRuns / (stddev[step] * stddev[step]), 1, 8 * std::sqrt(5.0 / kRuns));
    }
}

TEST(CounterState, RefusesParametersAsThePlanDoes) {
    EXPECT_THROW((void)make_mechanism(counter_request(-1, 1)), Error);
    EXPECT_THROW((void)make_mechanism(counter_request(0, 1, 1)), Error);
    EXPECT_THROW((void)make_mechanism(counter_request(0, 1, 65536)), Error);
}

TEST(ReleaseInterval, IsThatOfTheNoiseItself) {
    // A bounded counter's first release has one node's noise (k = 19, h = 3): P(|z| <= w) has a
    // closed form, 1 - 2 q^(w+1) / (1 + q).
    const Request request = counter_request(1000, 1, 19);
    const double q = std::exp(-1.0 / 3);
    std::int64_t width = 0;
    while (1 - 2 * std::pow(q, static_cast<double>(width + 1)) / (1 + q) < 0.95)
        ++width;
    const double stddev = std::sqrt(make_mechanism(request).scale().variance());
    StreamError errors(request);
    EXPECT_EQ(release_width(errors, {1, 500, stddev}), width);
    // With another standard deviation than this version's plan has: the normal approximation.
    EXPECT_EQ(release_width(errors, {1, 500, 100}), 196);
    StreamError without_a_horizon(counter_request(kUnbounded, 1));
    EXPECT_GT(release_width(without_a_horizon, {2000, 500, 15}), 0);
}

// Against all values of the count of both, at each of which the share has a normal interval.
TEST(ReleaseInterval, OfAShareThatIsNotPlannedIsTheNormalApproximation) {
    for (const auto& [above, below] : {std::pair(500, 500), {300, 700}, {990, 10}, {0, 1000}}) {
        constexpr double kStddev = 30;
        // By the greater of both.
        const ShareInterval share = normal_share({7, above, kStddev}, {7, below, kStddev / 2});
        const ShareInterval other = normal_share({7, above, kStddev / 2}, {7, below, kStddev});
        EXPECT_EQ(std::pair(share.low, share.high), std::pair(other.low, other.high));
        const auto is_in = [&](double p) {
            return std::abs((1 - p) * above - p * below) <=
                   1.959963984540054 * kStddev * std::hypot(1 - p, p);
        };
        double low = 1;
        double high = 0;
        for (int part = 0; part <= 100000; ++part)
            if (const double p = part / 1e5; is_in(p)) {
                low = std::min(low, p);
                high = std::max(high, p);
            }
        EXPECT_NEAR(share.low, low, 5e-4) << above; // quantiles between the nodes are chords
        EXPECT_NEAR(share.high, high, 5e-4) << above;
    }
}

TEST(ReleaseInterval, StaysWithinWhatACountCanBe) {
    EXPECT_EQ(clamped_interval(100, 20).low, 80);
    EXPECT_EQ(clamped_interval(100, 20).high, 120);
    EXPECT_EQ(clamped_interval(5, 20).low, 0);
    EXPECT_EQ(clamped_interval(-50, 20).low, 0);
    EXPECT_EQ(clamped_interval(-50, 20).high, 0);
    EXPECT_EQ(clamped_interval(7, 0).low, 7);
    EXPECT_EQ(clamped_interval(7, 0).high, 7);
    EXPECT_EQ(clamped_interval(kMost, kMost).high, kMost);
    EXPECT_EQ(clamped_interval(-kMost, kMost).low, 0);
}

} // namespace
} // namespace dp_counter
