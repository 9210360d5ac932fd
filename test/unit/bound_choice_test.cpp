#include "core/count/bound_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/kept_share.hpp"
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

/// Those of choose_candidate.
Counts thresholds(const Counts& above, std::int64_t not_worth_more, double scale) {
    Counts enough;
    for (std::size_t i = 0; i < above.size(); ++i)
        enough.push_back(not_worth_more + evidence_for_more(kBoundCandidates[i], scale));
    return enough;
}

UnitsAbove units_of(const Counts& numbers) {
    UnitsAbove units;
    std::memset(&units, 0, sizeof units);
    for (const std::int64_t number : numbers)
        units.add(number);
    return units;
}

// 20,000 choices, twice; each of 8 frequencies is off by 6 standard deviations with a probability
// of 2e-9. Noise of half the scale is off by 10 or more.
TEST(BoundChoice, DrawsFromASamplerOfItsScale) {
    constexpr int kRuns = 20'000;
    constexpr int kPart = 2;
    Keystream random;
    const Counts above{11, 8, 6, 1};
    const UnitsAbove units = units_of({1, 2, 2, 2, 3, 3, 4, 4, 4, 4, 4, 9});
    for (const double epsilon : {1.0, 4.0}) {
        const Release release(PrivacyUnit(Epsilon(epsilon), 1), random);
        std::vector<int> seen(above.size());
        for (int run = 0; run < kRuns; ++run)
            ++seen[choose_candidate(units, 0, 4, 5, kPart, release)];
        const double scale = 2 * kPart / epsilon;
        const Outcomes exact = by_definition(above, thresholds(above, 5, scale), scale);
        for (std::size_t i = 0; i < exact.size(); ++i)
            EXPECT_NEAR(seen[i], kRuns * exact[i],
                        6 * std::sqrt(kRuns * exact[i] * (1 - exact[i])) + 1)
                << epsilon << " " << i;
    }
    const Release tiny(PrivacyUnit(Epsilon(1e-9), 1'000'000), random);
    EXPECT_THROW((void)choose_candidate(units, 0, 4, 5, kPart, tiny), Error);
}

TEST(BoundChoice, CountsUnitsAboveEachCandidate) {
    EXPECT_TRUE(std::is_sorted(kBoundCandidates.begin(), kBoundCandidates.end()));
    EXPECT_EQ(std::adjacent_find(kBoundCandidates.begin(), kBoundCandidates.end()),
              kBoundCandidates.end());
    EXPECT_EQ(kBoundCandidates.front(), 1);
    EXPECT_EQ(kBoundCandidates[10], 20);
    EXPECT_EQ(kBoundCandidates.back(), 2'000'000'000);
    const Counts added{0, 1, 2, 6, 7, 12, 100, std::int64_t{1} << 40, -5};
    const UnitsAbove units = units_of(added);
    const auto all = units.above(0, std::int64_t{1} << 31);
    ASSERT_EQ(all.size(), kBoundCandidates.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], std::count_if(added.begin(), added.end(), [&](std::int64_t most) {
                      return most > kBoundCandidates[i];
                  }));
    EXPECT_EQ(units.above(0, 1).size(), 1U);
    EXPECT_EQ(units.above(0, 0).size(), 1U);
    EXPECT_EQ(units.above(0, 8).size(), 7U);
    EXPECT_EQ(units.above(0, 9).size(), 7U);
    EXPECT_EQ(units.above(4, 9).size(), 3U);
    EXPECT_EQ(units.above(4, 9)[0], all[4]);
    EXPECT_EQ(units.above(all.size() - 1, 1).size(), 1U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        int128 sum = 0;
        for (const std::int64_t number : added)
            sum += std::clamp<std::int64_t>(number, 0, kBoundCandidates[i]);
        EXPECT_EQ(units.within(i), sum);
    }
    EXPECT_EQ(units_not_worth_more(52, std::sqrt(2.0)), 73);
    EXPECT_EQ(units_not_worth_more(52, 1e300), std::int64_t{1} << 62);
}

// choose.py's populations: events a year of Poisson with a lognormal rate, mean 2.5; noise of a
// week of stddev sqrt(2) for each of the bound. The rmse of a week, on average over the exact
// distribution of the choice among all bounds up to a million, against that of the best one. With
// the same threshold for all candidates it would be up to 1,900 times as large.
TEST(BoundChoice, IsNearTheBestBound) {
    constexpr int kWeeks = 52;
    constexpr double kScale = 2 * 2 / 0.04; // a half of epsilon 0.04
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
            const Outcomes choice = by_definition(above, enough, kScale);
            double sum = 0;
            for (std::size_t i = 0; i < choice.size(); ++i)
                sum += choice[i] * rmse[i];
            return sum / best;
        };
        const std::int64_t not_worth_more = units_not_worth_more(kWeeks, stddev);
        EXPECT_LE(mean(thresholds(above, not_worth_more, kScale)), 1.7) << persons;
        EXPECT_GE(mean(Counts(above.size(), not_worth_more)), 100) << persons;
    }
}

/// Events a year of persons whose rates are lognormal, 2.5 on average; of those who come.
Counts population(int persons, std::mt19937& random) {
    std::lognormal_distribution<double> rates(std::log(2.5) - 0.5, 1);
    Counts numbers;
    for (int i = 0; i < persons; ++i) {
        const int events = std::poisson_distribution<int>(rates(random))(random);
        if (events > 0)
            numbers.push_back(events);
    }
    return numbers;
}

KeptShare share_of(const SuggestedBound& suggested) {
    const ReleasedPart parts[] = {{static_cast<double>(suggested.within), 1, 1},
                                  {static_cast<double>(suggested.beyond), 0, 1.0 / kBeyondWeight}};
    return suggested.scale == 0 ? kept_share({}, 1) : kept_share(parts, suggested.scale);
}

// The two numbers, in l1: what one unit adds is covered by the scale, and reaches it. The noise of
// each has that scale: a variance over 20,000 runs is off by 6 standard deviations, sqrt(5 / runs)
// each, with a probability below 1e-8.
TEST(SuggestedBound, CoversWhatAUnitAdds) {
    constexpr int kRuns = 20'000;
    constexpr double kEpsilon = 1.5;
    Keystream random;
    std::mt19937 seeded(1);
    const UnitsAbove units = units_of(population(1000, seeded));
    const Release release(PrivacyUnit(Epsilon(kEpsilon)), random);
    double squares = 0;
    for (int run = 0; run < kRuns; ++run) {
        const SuggestedBound suggested = suggest_bound(units, 1000000, 73, release);
        const auto place = [](std::int64_t bound) {
            const auto* const found =
                std::find(kBoundCandidates.begin(), kBoundCandidates.end(), bound);
            return static_cast<std::size_t>(found - kBoundCandidates.begin());
        };
        const std::size_t bound = place(suggested.bound);
        const std::size_t most = place(suggested.most);
        ASSERT_GE(suggested.most, 2 * suggested.bound);
        const double l1 = suggested.scale * kEpsilon / 3;
        const std::int64_t greatest = kBoundCandidates.back();
        for (const std::int64_t number :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, greatest}) {
            const UnitsAbove one = units_of({number});
            const int128 added =
                one.within(bound) + kBeyondWeight * (one.within(most) - one.within(bound));
            if (number == greatest) {
                ASSERT_NEAR(static_cast<double>(added), l1, 1e-9 * l1);
            }
            ASSERT_LE(static_cast<double>(added), l1 * (1 + 1e-9));
        }
        const int128 beyond = kBeyondWeight * (units.within(most) - units.within(bound));
        const auto relative = [&](int128 noise) {
            return static_cast<double>(noise) / suggested.scale;
        };
        squares += (std::pow(relative(suggested.within - units.within(bound)), 2) +
                    std::pow(relative(suggested.beyond - beyond), 2)) /
                   2;
    }
    EXPECT_NEAR(squares / kRuns / 2, 1, 6 * std::sqrt(5.0 / kRuns));
}

// A half of epsilon for the bound, a sixth for `most`: 20,000 suggestions; each of 9 frequencies is
// off by 6 standard deviations with a probability of 2e-9.
TEST(SuggestedBound, ChoosesWithTheirPartsOfEpsilon) {
    constexpr int kRuns = 20'000;
    constexpr double kEpsilon = 4;
    Keystream random;
    const UnitsAbove units = units_of({1, 2, 2, 3, 3, 5, 5, 5, 5, 7, 9, 9, 11, 12, 13});
    const Release release(PrivacyUnit(Epsilon(kEpsilon)), random);
    const auto exact = [&](std::size_t first, std::int64_t most, std::int64_t enough, int part) {
        const auto above = units.above(first, most);
        Counts limits;
        for (std::size_t i = 0; i < above.size(); ++i)
            limits.push_back(enough +
                             evidence_for_more(kBoundCandidates[first + i], 2 * part / kEpsilon));
        return by_definition({above.begin(), above.end()}, limits, 2 * part / kEpsilon);
    };
    Counts bounds(5);
    Counts most_of_two(4); // after a bound of 2: 4, 5, 6, or 8
    for (int run = 0; run < kRuns; ++run) {
        const SuggestedBound suggested = suggest_bound(units, 5, 10, release);
        ++bounds[static_cast<std::size_t>(suggested.bound - 1)];
        for (std::size_t i = 0; i < most_of_two.size(); ++i)
            if (suggested.bound == 2 && suggested.most == kBoundCandidates[3 + i])
                ++most_of_two[i];
    }
    const auto check = [](const Counts& seen, const Outcomes& probabilities, std::int64_t runs) {
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const double p = probabilities[i];
            EXPECT_NEAR(static_cast<double>(seen[i]), static_cast<double>(runs) * p,
                        6 * std::sqrt(static_cast<double>(runs) * p * (1 - p)) + 1)
                << i;
        }
    };
    check(bounds, exact(0, 5, 10, 2), kRuns);
    ASSERT_GT(bounds[1], kRuns / 10);
    check(most_of_two, exact(3, kBoundCandidates.back(), 0, 6), bounds[1]);
}

// 1,000 replays of each population, choice included. An interval that holds the truth with 95 %
// does so in fewer than 905 of them with a probability of 1e-9.
TEST(SuggestedBound, IntervalHoldsTheShareThatTheBoundKeeps) {
    constexpr int kReplays = 1000;
    Keystream random;
    std::mt19937 seeded(2);
    for (const auto& [persons, epsilon, width] : {std::tuple(300, 0.1, 1.0),
                                                  {300, 1.0, 0.4},
                                                  {3000, 0.1, 1.0},
                                                  {3000, 1.0, 0.05},
                                                  {30000, 0.1, 0.08},
                                                  {30000, 1.0, 0.01}}) {
        const Counts numbers = population(persons, seeded);
        const UnitsAbove units = units_of(numbers);
        const Release release(PrivacyUnit(Epsilon{epsilon}), random);
        int held = 0;
        std::vector<double> widths;
        for (int replay = 0; replay < kReplays; ++replay) {
            const SuggestedBound suggested = suggest_bound(units, 1000000, 73, release);
            double kept = 0;
            double all = 0;
            for (const std::int64_t number : numbers) {
                kept += static_cast<double>(std::min(number, suggested.bound));
                all += static_cast<double>(std::min(number, suggested.most));
            }
            const KeptShare share = share_of(suggested);
            held += share.low <= kept / all && kept / all <= share.high ? 1 : 0;
            widths.push_back(share.high - share.low);
        }
        EXPECT_GE(held, 905) << persons << " " << epsilon;
        std::nth_element(widths.begin(), widths.begin() + kReplays / 2, widths.end());
        EXPECT_LE(widths[kReplays / 2], width) << persons << " " << epsilon;
    }
}

TEST(SuggestedBound, SaysNothingWhereNoiseWouldBeTooLarge) {
    Keystream random;
    const UnitsAbove units = units_of(Counts(100000, std::int64_t{1} << 40));
    const SuggestedBound suggested =
        suggest_bound(units, std::int64_t{1} << 31, 0, Release(PrivacyUnit(Epsilon(0.01)), random));
    EXPECT_EQ(suggested.bound, 2'000'000'000);
    EXPECT_EQ(suggested.most, 2'000'000'000);
    EXPECT_EQ(suggested.scale, 0);
    EXPECT_TRUE(std::isnan(share_of(suggested).share));
    EXPECT_EQ(share_of(suggested).low, 0);
    EXPECT_EQ(share_of(suggested).high, 1);
}

} // namespace
} // namespace dp_counter
