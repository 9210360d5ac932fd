// The privacy audit, small, and what it rests on. `make audit` runs it at length, and
// `make audit-power` shows that it flags broken mechanisms.
#include "audit/core_audit.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "audit/audit.hpp"
#include "audit/confidence.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using namespace test;

double binomial_tail(int hits, int trials, double p) { // P(at least so many hits)
    double tail = 0;
    for (int i = hits; i <= trials; ++i)
        tail +=
            std::exp(std::lgamma(trials + 1) - std::lgamma(i + 1) - std::lgamma(trials - i + 1) +
                     i * std::log(p) + (trials - i) * std::log1p(-p));
    return tail;
}

TEST(Audit, ProbabilityBoundsAreThoseOfClopperAndPearson) {
    for (const int hits : {1, 7, 50, 93, 100}) {
        const double least = least_probability(hits, 100, 0.001);
        EXPECT_NEAR(binomial_tail(hits, 100, least), 0.001, 1e-9) << hits;
        const double greatest = greatest_probability(100 - hits, 100, 0.001);
        EXPECT_NEAR(greatest, 1 - least, 1e-12) << hits;
    }
    EXPECT_EQ(least_probability(0, 100, 0.001), 0);
    EXPECT_EQ(greatest_probability(100, 100, 0.001), 1);
}

/// Runs of two releases: `secret` plus noise, then the same again with the same noise; with each
/// noise so many runs.
Releases alike(std::int64_t secret, const std::vector<std::int64_t>& noise, int runs) {
    Releases releases({1, 2});
    for (const std::int64_t drawn : noise)
        for (int i = 0; i < runs; ++i) {
            releases.add(secret + drawn);
            releases.add(2 * secret + drawn);
        }
    return releases;
}

/// With noise of its own for each run.
Releases two_alike(std::int64_t secret, std::size_t runs, RandomSource& random) {
    const DiscreteLaplace sampler({Epsilon(1), 1});
    std::vector<std::int64_t> noise(runs);
    for (std::int64_t& drawn : noise)
        drawn = test::draw(sampler, random);
    return alike(secret, noise, 1);
}

TEST(Audit, SeesWhatOneReleaseAloneWouldNotShow) {
    // Each release alone is private to some degree; their difference is the secret.
    Keystream random;
    EXPECT_GT(audit(two_alike(1, 4000, random), two_alike(0, 4000, random), 1e-9).epsilon, 4);
    EXPECT_EQ(audit(two_alike(0, 4000, random), two_alike(0, 4000, random), 1e-9).epsilon, 0);
}

TEST(Audit, SeesWhatRunsThatShareNoiseHaveInCommon) {
    // In the first 500 runs the first release alone shows the secret; in the others it does not.
    const Releases one = alike(1, {9, 10, 0, 1, 2, 3, 4, 5}, 250);
    const Releases other = alike(0, {0, 1, 9, 10, 2, 3, 4, 5}, 250);
    EXPECT_GT(audit(one, other, 1e-9).epsilon, 3);
    EXPECT_EQ(audit(alike(0, {9, 10, 0, 1}, 250), alike(0, {1, 9, 10, 0}, 250), 1e-9).epsilon, 0);
}

TEST(Audit, NoMechanismSpendsMoreThanItsEpsilonAndHalfTheNoiseIsSeen) {
    // The noise is the same every time: how much of an epsilon is seen varies from run to run, by
    // more than lets a limit tell half the noise for certain. Other noise is audited through SQL.
    constexpr double kError = 1e-6;
    const std::vector<Case> cases = small_cases();
    Seeded random(1);
    for (const Case& one : cases) {
        const Verdict v =
            audit_case(one, 40000, kError / static_cast<double>(cases.size()), true, random);
        EXPECT_LE(v.bound, v.epsilon) << name_of(one) << v.event;
        EXPECT_GT(v.bound, 0.2 * v.epsilon) << name_of(one);
        EXPECT_GT(v.half_noise, v.epsilon) << name_of(one) << ": the audit is blind";
    }
}

} // namespace
} // namespace dp_counter
