#include "core/count/bound_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

using Counts = std::vector<std::int64_t>;
using Outcomes = std::vector<double>; ///< the probability of each candidate

/// P(Z = z) of discrete Laplace noise, and P(Z <= z).
double mass(double scale, std::int64_t z) {
    const double q = std::exp(-1 / scale);
    return (1 - q) / (1 + q) * std::pow(q, static_cast<double>(std::abs(z)));
}
double at_most(double scale, std::int64_t z) {
    const double q = std::exp(-1 / scale);
    return z < 0 ? std::pow(q, static_cast<double>(-z)) / (1 + q)
                 : 1 - std::pow(q, static_cast<double>(z + 1)) / (1 + q);
}

/// What AboveThreshold is by definition: given its noise, the candidates are independent.
Outcomes by_definition(const Counts& above, const Counts& enough, double scale) {
    Outcomes outcomes(above.size());
    const auto reach = static_cast<std::int64_t>(std::ceil(40 * scale));
    for (std::int64_t noise = -reach; noise <= reach; ++noise) {
        double passed = mass(scale, noise);
        for (std::size_t i = 0; i + 1 < above.size(); ++i) {
            const double stops = at_most(scale, enough[i] + noise - above[i]);
            outcomes[i] += passed * stops;
            passed *= 1 - stops;
        }
        outcomes.back() += passed;
    }
    return outcomes;
}

/// What the code does: every noise that matters, drawn in every order. Three candidates take up to
/// `draws` = 3 values; `scale_of` is the scale of the n-th, 0 for none.
template <class Scale>
Outcomes by_enumeration(const Counts& above, const Counts& enough, int draws, Scale&& scale_of) {
    constexpr std::int64_t kReach = 11; // beyond it less than 1e-9, of the scales below
    Outcomes outcomes(above.size());
    Counts noise(static_cast<std::size_t>(draws));
    const auto visit = [&](auto& self, int drawn, double probability) -> void {
        if (drawn == draws) {
            int next = 0;
            outcomes[first_with_enough(
                above, [&](std::size_t candidate) { return enough[candidate]; },
                [&] { return noise[static_cast<std::size_t>(next++)]; })] += probability;
            return;
        }
        const double scale = scale_of(drawn);
        const std::int64_t reach = scale > 0 ? kReach : 0;
        for (std::int64_t z = -reach; z <= reach; ++z) {
            noise[static_cast<std::size_t>(drawn)] = z;
            self(self, drawn + 1, probability * (scale > 0 ? mass(scale, z) : 1));
        }
    };
    visit(visit, 0, 1);
    return outcomes;
}

/// Thresholds that rise, as those of a small epsilon do.
const Counts kEnough{2, 2, 3, 4};

/// The most epsilon that any outcome spends between neighbors: those of some numbers of units, and
/// with `more` for those up to each candidate.
template <class Scale>
double spent(double epsilon, std::int64_t more, Scale&& scale_of) {
    double greatest = 0;
    for (const Counts& above : {Counts{3, 2, 2, 2}, {2, 2, 3, 2}, {9, 2, 3, 3}, {6, 6, 7, 8}}) {
        const Outcomes one = by_enumeration(above, kEnough, 4, scale_of);
        for (std::size_t affected = 1; affected <= above.size(); ++affected) {
            Counts neighbor = above;
            for (std::size_t i = 0; i < affected; ++i)
                neighbor[i] += more;
            const Outcomes other = by_enumeration(neighbor, kEnough, 4, scale_of);
            for (std::size_t i = 0; i < one.size(); ++i)
                if (one[i] > 1e-5 || other[i] > 1e-5) // far more than what is beyond reach
                    greatest = std::max(greatest, std::abs(std::log(one[i] / other[i])));
        }
    }
    return greatest / epsilon;
}

TEST(BoundChoice, IsAboveThresholdExactly) {
    constexpr double kScale = 0.5;
    for (const Counts& above : {Counts{3, 2, 1, 0}, {2, 2, 2, 0}, {9, 5, 1, 1}, {0, 0, 0, 0}, {7}})
        for (const Counts& enough : {Counts{0, 0, 0, 0}, {2, 2, 2, 2}, {1, 3, 5, 6}}) {
            const Outcomes exact = by_definition(above, enough, kScale);
            const Outcomes code = by_enumeration(above, enough, 4, [](int) { return kScale; });
            for (std::size_t i = 0; i < exact.size(); ++i)
                EXPECT_NEAR(code[i], exact[i], 1e-8) << enough[1] << " " << i;
        }
}

TEST(BoundChoice, SpendsEpsilonAndBrokenOnesSpendMore) {
    constexpr double kEpsilon = 4;
    constexpr double kScale = 2 / kEpsilon;
    const double right = spent(kEpsilon, 1, [](int) { return kScale; });
    EXPECT_LE(right, 1 + 1e-4);
    EXPECT_GT(right, 0.75);
    const auto no_threshold_noise = [](int draw) { return draw == 0 ? 0 : kScale; };
    EXPECT_GT(spent(kEpsilon, 1, no_threshold_noise), 1.2);
    const auto half_of_query_noise = [](int draw) { return draw == 0 ? kScale : kScale / 2; };
    EXPECT_GT(spent(kEpsilon, 1, half_of_query_noise), 1.2);
    EXPECT_GT(spent(kEpsilon, 3, [](int) { return kScale; }), 1.2); // events for units
}

/// Those of choose_bound.
Counts thresholds(const Counts& above, std::int64_t not_worth_more, double scale) {
    Counts enough;
    for (std::size_t i = 0; i < above.size(); ++i)
        enough.push_back(not_worth_more + evidence_for_more(kBoundCandidates[i], scale));
    return enough;
}

// 20,000 choices, twice; each of 8 frequencies is off by 6 standard deviations with a probability
// of 2e-9. Noise of half the scale is off by 10 or more.
TEST(BoundChoice, DrawsFromASamplerOfItsScale) {
    constexpr int kRuns = 20'000;
    Keystream random;
    const Counts above{11, 8, 6, 1};
    for (const double epsilon : {0.5, 2.0}) {
        const Release release(PrivacyUnit(Epsilon(epsilon), 1), random);
        std::vector<int> seen(above.size());
        for (int run = 0; run < kRuns; ++run)
            ++seen[static_cast<std::size_t>(choose_bound(above, 5, release) - 1)];
        const Outcomes exact = by_definition(above, thresholds(above, 5, 2 / epsilon), 2 / epsilon);
        for (std::size_t i = 0; i < exact.size(); ++i)
            EXPECT_NEAR(seen[i], kRuns * exact[i],
                        6 * std::sqrt(kRuns * exact[i] * (1 - exact[i])) + 1)
                << epsilon << " " << i;
    }
    const Release tiny(PrivacyUnit(Epsilon(1e-9), 1'000'000), random);
    EXPECT_THROW((void)choose_bound(above, 5, tiny), Error);
}

TEST(BoundChoice, CountsUnitsAboveEachCandidate) {
    EXPECT_TRUE(std::is_sorted(kBoundCandidates.begin(), kBoundCandidates.end()));
    EXPECT_EQ(std::adjacent_find(kBoundCandidates.begin(), kBoundCandidates.end()),
              kBoundCandidates.end());
    EXPECT_EQ(kBoundCandidates.front(), 1);
    EXPECT_EQ(kBoundCandidates[10], 20);
    EXPECT_EQ(kBoundCandidates.back(), 2'000'000'000);
    UnitsAbove units;
    std::memset(&units, 0, sizeof units);
    const Counts added{0, 1, 2, 6, 7, 12, 100, std::int64_t{1} << 40, -5};
    for (const std::int64_t most : added)
        units.add(most);
    const auto all = units.up_to(std::int64_t{1} << 31);
    ASSERT_EQ(all.size(), kBoundCandidates.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], std::count_if(added.begin(), added.end(), [&](std::int64_t most) {
                      return most > kBoundCandidates[i];
                  }));
    EXPECT_EQ(units.up_to(1).size(), 1U);
    EXPECT_EQ(units.up_to(0).size(), 1U);
    EXPECT_EQ(units.up_to(8).size(), 7U);
    EXPECT_EQ(units.up_to(9).size(), 7U);
    EXPECT_EQ(units_not_worth_more(52, std::sqrt(2.0)), 73);
    EXPECT_EQ(units_not_worth_more(52, 1e300), std::int64_t{1} << 62);
}

// choose.py's populations: events a year of Poisson with a lognormal rate, mean 2.5; noise of a
// week of stddev sqrt(2) for each of the bound. The rmse of a week, on average over the exact
// distribution of the choice among all bounds up to a million, against that of the best one. With
// the same threshold for all candidates it would be up to 1,900 times as large.
TEST(BoundChoice, IsNearTheBestBound) {
    constexpr int kWeeks = 52;
    const double stddev = std::sqrt(2.0);
    for (const int persons : {300, 3000, 30000, 300000}) {
        constexpr int kRates = 400; // of the lognormal distribution, by quantiles
        std::vector<double> with(400);
        for (int k = 0; k < kRates; ++k) {
            double low = -10; // the standard normal quantile, by bisection
            double high = 10;
            for (int i = 0; i < 60; ++i) {
                const double middle = (low + high) / 2;
                (0.5 * std::erfc(-middle / std::sqrt(2.0)) < (k + 0.5) / kRates ? low : high) =
                    middle;
            }
            const double rate = std::exp(std::log(2.5) - 0.5 + low);
            for (std::size_t n = 0; n < with.size(); ++n)
                with[n] += std::exp(static_cast<double>(n) * std::log(rate) - rate -
                                    std::lgamma(static_cast<double>(n) + 1)) *
                           persons / kRates;
        }
        std::vector<std::int64_t> above;
        std::vector<double> rmse;
        for (std::size_t i = 0; kBoundCandidates[i] <= 1'000'000; ++i) {
            double units = 0;
            double lost = 0;
            for (std::size_t n = 0; n < with.size(); ++n) {
                const double more =
                    static_cast<double>(n) - static_cast<double>(kBoundCandidates[i]);
                units += more > 0 ? with[n] : 0;
                lost += std::max(more, 0.0) * with[n];
            }
            above.push_back(std::llround(units));
            rmse.push_back(
                std::hypot(lost / kWeeks, static_cast<double>(kBoundCandidates[i]) * stddev));
        }
        const double best = *std::min_element(rmse.begin(), rmse.end());
        const auto mean = [&](const Counts& enough) {
            const Outcomes choice = by_definition(above, enough, 2 / 0.02);
            double sum = 0;
            for (std::size_t i = 0; i < choice.size(); ++i)
                sum += choice[i] * rmse[i];
            return sum / best;
        };
        const std::int64_t not_worth_more = units_not_worth_more(kWeeks, stddev);
        EXPECT_LE(mean(thresholds(above, not_worth_more, 2 / 0.02)), 1.7) << persons;
        EXPECT_GE(mean(Counts(above.size(), not_worth_more)), 100) << persons;
    }
}

} // namespace
} // namespace dp_counter
