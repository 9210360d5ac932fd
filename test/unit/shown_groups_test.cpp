#include "core/count/shown_groups.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gmpxx.h>
#include <gtest/gtest.h>

#include "unit/support.hpp"

namespace dp_counter {
namespace {

// --- the law, in rationals: q = 1/2, threshold 2, values cut at 4

using Weights = std::vector<std::int64_t>;                        ///< of each group; 0 has no data
using Table = std::vector<std::pair<std::int64_t, std::int64_t>>; ///< what is shown
using Law = std::map<Table, mpq_class>;

const mpq_class kQ(1, 2);
constexpr std::int64_t kThreshold = 2;
constexpr std::int64_t kCut = kThreshold + 2;

mpq_class power(const mpq_class& base, std::int64_t exponent) {
    mpq_class result = 1;
    for (std::int64_t i = 0; i < exponent; ++i)
        result *= base;
    return result;
}
mpq_class mass(std::int64_t z) {
    return (1 - kQ) / (1 + kQ) * power(kQ, std::abs(z));
}
/// P(Z >= z)
mpq_class reach(std::int64_t z) {
    return z > 0 ? mpq_class(power(kQ, z) / (1 + kQ)) : mpq_class(1 - reach(1 - z));
}

/// By definition: each of the cells has noise of its own, and is shown if it reaches the threshold.
Law by_definition(const Weights& weights) {
    Law law{{{}, 1}};
    for (std::size_t group = 0; group < weights.size(); ++group) {
        Law next;
        for (const auto& [table, probability] : law) {
            next[table] += probability * (1 - reach(kThreshold - weights[group]));
            for (std::int64_t shown = kThreshold; shown <= kCut; ++shown) {
                Table more = table;
                more.emplace_back(group, shown);
                const std::int64_t z = shown - weights[group];
                next[more] += probability * (shown < kCut ? mass(z) : reach(z));
            }
        }
        law = next;
    }
    return law;
}

/// Noise that takes every value in turn: runs over all paths of choices, each with its probability.
class AllPaths {
public:
    /// One of the values of these probabilities.
    std::size_t choose(const std::vector<mpq_class>& probabilities) {
        if (at_ == path_.size())
            path_.push_back({0, probabilities.size()});
        const std::size_t chosen = path_[at_++].first;
        probability_ *= probabilities[chosen];
        return chosen;
    }
    const mpq_class& probability() const { return probability_; }

    /// Goes on to the next path; false after the last one.
    bool next() {
        at_ = 0;
        probability_ = 1;
        while (!path_.empty() && ++path_.back().first == path_.back().second)
            path_.pop_back();
        return !path_.empty();
    }

private:
    std::vector<std::pair<std::size_t, std::size_t>> path_;
    std::size_t at_ = 0;
    mpq_class probability_ = 1;
};

struct RationalNoise {
    AllPaths* paths;
    std::int64_t greatest; ///< of the weights

    [[nodiscard]] uint128 below(uint128 end) const {
        const auto n = static_cast<unsigned long>(end);
        return paths->choose(std::vector<mpq_class>(n, mpq_class(1, n)));
    }
    [[nodiscard]] std::int64_t shown() const {
        return kThreshold +
               static_cast<std::int64_t>(paths->choose({1 - kQ, (1 - kQ) * kQ, kQ * kQ}));
    }
    /// Cut where any group is hidden, and where any shows kCut or more.
    [[nodiscard]] std::int64_t of_cell() const {
        const std::int64_t hidden = kThreshold - 1 - greatest;
        std::vector<mpq_class> probabilities{reach(-hidden)};
        for (std::int64_t z = hidden + 1; z < kCut; ++z)
            probabilities.push_back(mass(z));
        probabilities.push_back(reach(kCut));
        return hidden + static_cast<std::int64_t>(paths->choose(probabilities));
    }
    [[nodiscard]] static std::int64_t threshold() { return kThreshold; }
};

/// What the code does.
Law by_enumeration(const Weights& weights) {
    std::vector<GroupWeight> with_data;
    for (std::size_t group = 0; group < weights.size(); ++group)
        if (weights[group] > 0)
            with_data.push_back({group, weights[group]});
    const std::size_t groups = weights.size();
    const mpq_class p = reach(kThreshold);
    std::vector<mpq_class> binomial;
    for (std::size_t n = 0; n <= groups; ++n) {
        mpz_class ways;
        mpz_bin_uiui(ways.get_mpz_t(), groups, n);
        binomial.push_back(ways * power(p, static_cast<std::int64_t>(n)) *
                           power(1 - p, static_cast<std::int64_t>(groups - n)));
    }
    Law law;
    AllPaths paths;
    do {
        const std::size_t candidates = paths.choose(binomial);
        std::vector<GroupWeight> shown(with_data.size() + candidates);
        const RationalNoise noise{&paths, *std::max_element(weights.begin(), weights.end())};
        shown.resize(show_groups(with_data, groups, candidates, noise, shown.data()));
        Table table;
        for (const GroupWeight& row : shown)
            table.emplace_back(static_cast<std::int64_t>(row.group),
                               std::min<std::int64_t>(static_cast<std::int64_t>(row.weight), kCut));
        law[table] += paths.probability();
    } while (paths.next());
    return law;
}

/// All data sets of so many groups with weights up to `greatest`.
std::vector<Weights> data_sets(std::size_t groups, std::int64_t greatest) {
    std::vector<Weights> all{{}};
    for (std::size_t group = 0; group < groups; ++group) {
        std::vector<Weights> longer;
        for (const Weights& weights : all)
            for (std::int64_t weight = 0; weight <= greatest; ++weight) {
                longer.push_back(weights);
                longer.back().push_back(weight);
            }
        all = longer;
    }
    return all;
}

TEST(ShownGroups, HaveTheLawOfNoiseForEveryGroup) {
    int compared = 0;
    for (const std::size_t groups : {1U, 2U, 3U})
        for (const Weights& weights : data_sets(groups, 2)) {
            ASSERT_EQ(by_enumeration(weights), by_definition(weights)) << compared;
            ++compared;
        }
    EXPECT_EQ(compared, 39);
}

TEST(ShownGroups, NeighborsDifferByExactlyEpsilon) {
    mpq_class worst = 0;
    for (const Weights& weights : data_sets(3, 1)) {
        const Law one = by_enumeration(weights);
        for (std::size_t group = 0; group < 3; ++group) {
            Weights more = weights;
            ++more[group];
            const Law other = by_enumeration(more);
            ASSERT_EQ(one.size(), other.size());
            for (const auto& [table, probability] : one)
                worst = std::max({worst, mpq_class(probability / other.at(table)),
                                  mpq_class(other.at(table) / probability)});
        }
    }
    EXPECT_EQ(worst, 1 / kQ);
}

// --- units

Weights weights_of(const std::vector<std::pair<int, int>>& groups_and_ranks, std::int32_t most) {
    UnitGroups unit;
    unit.begin(most);
    for (const auto& [group, rank] : groups_and_ranks)
        unit.add(static_cast<uint128>(group), static_cast<std::uint64_t>(rank));
    Weights weights(20);
    unit.share([&](GroupWeight added) {
        weights[static_cast<std::size_t>(added.group)] += static_cast<std::int64_t>(added.weight);
    });
    return weights;
}

TEST(ShownGroups, AUnitAddsItsWeightWhateverItHas) {
    std::vector<std::pair<int, int>> groups;
    for (int n = 1; n <= 20; ++n) {
        groups.emplace_back(n - 1, 7 * n % 11);
        groups.emplace_back(n / 3, 7 * (n / 3 + 1) % 11); // one that has come before
        for (std::int32_t most = 1; most <= kMostGroupsOfUnit; ++most) {
            const Weights weights = weights_of(groups, most);
            EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}),
                      kUnitWeight);
            EXPECT_EQ(std::count_if(weights.begin(), weights.end(), [](auto w) { return w > 0; }),
                      std::min(most, n));
        }
    }
    EXPECT_EQ(weights_of({}, 3), Weights(20));
}

TEST(ShownGroups, TheGroupsOfLeastRankAreKeptInWhateverOrderTheyCome) {
    std::vector<std::pair<int, int>> groups{{1, 5}, {2, 3}, {3, 5}, {4, 9}, {5, 1}, {6, 7}};
    std::sort(groups.begin(), groups.end());
    Weights expected(20);
    expected[5] = expected[2] = expected[1] = kUnitWeight / 3; // of equal rank the first group
    do
        ASSERT_EQ(weights_of(groups, 3), expected);
    while (std::next_permutation(groups.begin(), groups.end()));
}

TEST(ShownGroups, WeightsAddUpByGroup) {
    std::vector<GroupWeight> weights;
    std::map<std::uint64_t, int128> expected;
    std::mt19937 random(1);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t group = random() % 37 * 0x123456789abcdefU;
        weights.push_back({group, i});
        expected[group] += i;
    }
    weights.resize(add_up(weights));
    ASSERT_EQ(weights.size(), expected.size());
    auto next = weights.begin();
    for (const auto& [group, weight] : expected) {
        EXPECT_EQ(next->group, group);
        EXPECT_EQ(next++->weight, weight);
    }
    EXPECT_EQ(add_up({}), 0U);
}

// --- what is found

/// Reports about a source, with the noise of production.
std::vector<GroupWeight> report(double epsilon, uint128 groups, std::vector<GroupWeight> weights,
                                RandomSource& random, const SparseNoise* known = nullptr) {
    const PrivacyUnit privacy{Epsilon(epsilon), kUnitWeight};
    std::optional<SparseNoise> made;
    if (known == nullptr)
        known = &made.emplace(SparseLaw{privacy.scale(1), groups});
    const Release release(privacy, random);
    weights.resize(add_up(weights));
    const std::uint64_t candidates = release.draw_reaching(*known);
    std::vector<GroupWeight> shown(weights.size() + static_cast<std::size_t>(candidates));
    shown.resize(
        show_groups(weights, groups, candidates, SparseRelease{known, release}, shown.data()));
    return shown;
}

TEST(ShownGroups, AtMostOneReportInTwentyHasAFalseOne) {
    const SparseNoise sampler({PrivacyUnit{Epsilon(1), kUnitWeight}.scale(1), 100000});
    test::Seeded random(4);
    int with_a_false_one = 0;
    for (int i = 0; i < 2000; ++i)
        with_a_false_one += report(1, 100000, {}, random, &sampler).empty() ? 0 : 1;
    EXPECT_NEAR(with_a_false_one, 2000 * 0.0488, 48); // five standard deviations
}

TEST(ShownGroups, FindThePopularOnesOfALongList) {
    // 20,000 persons with up to 10 of 50,000 groups, by Zipf's law, in a list of 100,000.
    constexpr int kUsed = 50000;
    std::vector<double> popularity;
    for (int i = 1; i <= kUsed; ++i)
        popularity.push_back(std::pow(i, -1.05));
    std::mt19937 random(5);
    std::discrete_distribution<int> draw_group(popularity.begin(), popularity.end());
    std::geometric_distribution<int> draw_more(0.35);
    std::vector<GroupWeight> weights;
    std::set<uint128> used;
    for (int person = 0; person < 20000; ++person) {
        UnitGroups unit;
        unit.begin(10);
        for (int left = std::min(draw_more(random), 9); left >= 0; --left) {
            const auto group = static_cast<std::uint64_t>(draw_group(random));
            unit.add(group,
                     (group * 20000 + static_cast<std::uint64_t>(person)) * 0x9e3779b97f4a7c15U);
            used.insert(group);
        }
        unit.share([&](GroupWeight added) { weights.push_back(added); });
    }
    test::Seeded noise(6);
    int found = 0;
    for (const GroupWeight& row : report(1, 100000, weights, noise))
        found += used.contains(row.group) ? 1 : 0;
    EXPECT_GE(found, 130);
    EXPECT_LE(found, 150);
}

} // namespace
} // namespace dp_counter
