// An exception from every checkpoint in turn: it comes out, and what is kept between calls answers
// afterwards as if nothing had happened.
#include "core/base/checkpoint.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/count/mechanism_cache.hpp"
#include "core/literature/comparison.hpp"

namespace dp_counter {
namespace {

struct Stopped {};

long until_stop = -1; // checkpoints that are still passed; none stops below zero

void stop() {
    if (until_stop >= 0 && until_stop-- == 0)
        throw Stopped{};
}

/// Runs `work` again and again, stopped at its n-th checkpoint, until none stops it. All of the
/// first ones, then every one after `stride` more. Returns how often it was stopped.
int stop_everywhere(long stride, const std::function<void()>& work) {
    int stops = 0;
    on_checkpoint = stop;
    for (long n = 0;; n += n < 20 ? 1 : stride, ++stops) {
        until_stop = n;
        bool stopped = false;
        try {
            work();
        } catch (const Stopped&) {
            stopped = true;
        }
        until_stop = -1;
        if (!stopped)
            break;
    }
    on_checkpoint = nullptr;
    return stops;
}

Request request(std::int64_t horizon, double epsilon, std::optional<std::int32_t> k,
                std::optional<Mechanism> mechanism) {
    return {horizon, Epsilon(epsilon), k, mechanism};
}

const Request kRequests[] = {
    request(1000, 0.3, {}, {}),
    request(100000, 5, {}, {}), // compared with noise per step
    request(20000, 1, {}, {}),
    request(50000, 1, 40, Mechanism::hat),
};

TEST(Checkpoint, LeavesAPlannerThatAnswersAsBefore) {
    for (const Request& wanted : kRequests) {
        MechanismCache undisturbed_plans;
        Forecast undisturbed(undisturbed_plans);
        MechanismCache planner_plans;
        Forecast planner(
            planner_plans); // one for all: what a stopped call left is there for the next
        const std::int64_t step = wanted.horizon * 2 / 3;
        const int stops = stop_everywhere(97, [&] {
            MechanismCache fresh_plans;
            Forecast fresh(fresh_plans);
            (void)fresh.report(wanted);
            (void)fresh.half_width(wanted, step, 0.95);
            (void)fresh.share_interval(wanted, 30, 70, step, 0.95);
        });
        EXPECT_GT(stops, 20);
        EXPECT_GT(stop_everywhere(97,
                                  [&] {
                                      (void)planner.report(wanted);
                                      (void)planner.half_width(wanted, step, 0.95);
                                      (void)planner.share_interval(wanted, 30, 70, step, 0.95);
                                  }),
                  0);
        EXPECT_EQ(planner.report(wanted).mse, undisturbed.report(wanted).mse);
        EXPECT_EQ(planner.report(wanted).max_stddev, undisturbed.report(wanted).max_stddev);
        EXPECT_EQ(planner.report(wanted).state_bytes, undisturbed.report(wanted).state_bytes);
        EXPECT_EQ(planner.half_width(wanted, step, 0.95),
                  undisturbed.half_width(wanted, step, 0.95));
        EXPECT_EQ(planner.share_interval(wanted, 30, 70, step, 0.95).high,
                  undisturbed.share_interval(wanted, 30, 70, step, 0.95).high);
        EXPECT_EQ(planner.errors(wanted).variance_at(step),
                  undisturbed.errors(wanted).variance_at(step));
    }
}

TEST(Checkpoint, LeavesEpochsThatAddUp) {
    const Request wanted = request(kUnbounded, 1, 40, Mechanism::hat);
    constexpr std::int64_t kStep = 3'000'000;
    MechanismCache planner_plans;
    Forecast planner(planner_plans);
    MechanismCache undisturbed_plans;
    Forecast undisturbed(undisturbed_plans);
    EXPECT_GT(stop_everywhere(97, [&] { (void)planner.errors(wanted).variance_at(kStep); }), 20);
    EXPECT_EQ(planner.errors(wanted).variance_at(kStep),
              undisturbed.errors(wanted).variance_at(kStep));
}

TEST(Checkpoint, LeavesACacheOfPlansThatWorks) {
    for (const Request& wanted : kRequests) {
        MechanismCache cache;
        const Request other = request(wanted.horizon + 128, 1, 3, {});
        (void)cache.prepare(other); // in the same place
        const std::int64_t step = wanted.horizon * 2 / 3;
        const auto variance = [&] { return cache.prepare(wanted).exact_variance_at(step); };
        EXPECT_GT(stop_everywhere(97, [&] { (void)variance(); }), 0);
        EXPECT_EQ(variance(), PreparedMechanism(make_mechanism(wanted)).exact_variance_at(step));
        EXPECT_EQ(cache.prepare(other).spec().radix, 3);
    }
}

TEST(Checkpoint, StopsAComparison) {
    EXPECT_GT(stop_everywhere(97, [] { (void)compare(100000, Epsilon(3), {}); }), 20);
}

} // namespace
} // namespace dp_counter
