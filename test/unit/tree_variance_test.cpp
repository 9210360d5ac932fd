#include "core/tree/tree_variance.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "core/count/mechanism_spec.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

TEST(TreeVariance, AgreesWithEnumeration) {
    for (const int k : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 19, 20, 64, 301})
        for (const DigitSystem& system : {DigitSystem::plain(k), DigitSystem::offset(k)}) {
            std::uint64_t total = 0;
            std::size_t most = 0;
            for (std::int64_t t = 1; t <= 3000; ++t) {
                const std::size_t nodes = test::nodes_by_definition(t, k, system.lowest()).size();
                total += nodes;
                most = std::max(most, nodes);
                ASSERT_EQ(nodes_at(system, t), static_cast<std::int64_t>(nodes));
                ASSERT_EQ(static_cast<std::uint64_t>(total_nodes(system, t)), total)
                    << "k = " << k << " T = " << t;
                ASSERT_EQ(max_nodes(system, t), static_cast<std::int64_t>(most))
                    << "k = " << k << " T = " << t;
            }
        }
}

std::int64_t power(std::int64_t k, int h) {
    return h == 0 ? 1 : k * power(k, h - 1);
}

TEST(TreeVariance, MeetsThePapersClosedForms) {
    // In exact integers: mean nodes x T.
    for (const int h : {1, 2, 3, 4}) {
        for (const int k :
             {3, 5, 7, 19}) { // Lemma "main mse": T (k h / 4) (1 - 1/k^2) / (1 - k^-h)
            const std::int64_t full = (power(k, h) - 1) / 2;
            EXPECT_EQ(static_cast<std::int64_t>(total_nodes(DigitSystem::offset(k), full)) * 8 * k,
                      h * (k * k - 1) * power(k, h));
        }
        for (const int k :
             {2, 3, 10, 17}) { // Lemma without subtraction: T h (k-1) / 2 / (1 - k^-h)
            const std::int64_t full = power(k, h) - 1;
            EXPECT_EQ(static_cast<std::int64_t>(total_nodes(DigitSystem::plain(k), full)) * 2,
                      h * (k - 1) * power(k, h));
        }
        for (const int k : {4, 6, 20}) { // even k, with the remainder (k-2)/(4(k-1)) that is exact
            const std::int64_t full = DigitSystem::offset(k).capacity(h);
            const double mean = static_cast<double>(total_nodes(DigitSystem::offset(k), full)) /
                                static_cast<double>(full);
            EXPECT_NEAR(mean, k * h / 4.0 / (1 - std::pow(k, -h)) + (k - 2) / (4.0 * (k - 1)),
                        1e-9);
        }
    }
}

/// MSE and max variance for continuous noise at epsilon = 1, 2 h^2 times the nodes.
std::pair<double, double> continuous_error(const DigitSystem& system, std::int64_t horizon) {
    const double h = system.height(horizon);
    return {2 * h * h * static_cast<double>(total_nodes(system, horizon)) /
                static_cast<double>(horizon),
            2 * h * h * static_cast<double>(max_nodes(system, horizon))};
}

struct Row {
    std::int64_t horizon;
    double k19, k19_max;
    int odd_k;
    double odd, odd_max;
    int even_k;
    double even, even_max;
    int plain_k;
    double plain, plain_max;
    double binary, binary_max;
};

// The table "Finite T decides the best k" of the design notes.
constexpr Row kTable[] = {
    {100, 58.4, 112, 15, 57.4, 112, 14, 56.2, 104, 11, 72.8, 144, 312.6, 588},
    {1000, 199.4, 378, 13, 170.4, 324, 14, 170.2, 324, 11, 243.5, 486, 987.6, 1800},
    {10000, 472.5, 896, 29, 368.7, 720, 28, 367.6, 720, 22, 552.9, 1098, 2532.8, 5096},
    {100000, 1004.5, 1850, 23, 679.6, 1312, 22, 675.7, 1312, 18, 1072.2, 2144, 4710.9, 9248},
    {1000000, 1142.5, 2200, 19, 1142.5, 2200, 18, 1136.5, 2200, 16, 1851.6, 3700, 7908, 15200},
    {10000000, 1848.2, 3528, 17, 1776.8, 3384, 18, 1800.0, 3528, 15, 2952.1, 5904, 13183, 26496},
};

TEST(TreeVariance, ReproducesTheTableOfBestRadices) {
    for (const Row& row : kTable) {
        const auto expect = [&](const DigitSystem& system, double mse, double most) {
            const auto [actual, actual_max] = continuous_error(system, row.horizon);
            EXPECT_NEAR(actual, mse, mse > 7000 ? 0.5 : 0.051) << row.horizon;
            EXPECT_EQ(actual_max, most) << row.horizon;
        };
        expect(DigitSystem::offset(19), row.k19, row.k19_max);
        expect(DigitSystem::offset(row.odd_k), row.odd, row.odd_max);
        expect(DigitSystem::offset(row.even_k), row.even, row.even_max);
        expect(DigitSystem::plain(row.plain_k), row.plain, row.plain_max);
        expect(DigitSystem::plain(2), row.binary, row.binary_max);
    }
}

TEST(TreeVariance, TheTablesRadicesAreTheBest) {
    for (const Row& row : kTable)
        for (int k = 2; k <= 400; ++k) {
            const double offset = continuous_error(DigitSystem::offset(k), row.horizon).first;
            EXPECT_GE(offset, (k % 2 == 1 ? row.odd : row.even) - 0.06) << k << " " << row.horizon;
            EXPECT_GE(continuous_error(DigitSystem::plain(k), row.horizon).first, row.plain - 0.06);
        }
}

TEST(TreeVariance, HoldsAtTheGreatestHorizon) {
    // T = 2^62: close to the asymptotic k h / 4 nodes of odd k = 19.
    const DigitSystem system = DigitSystem::offset(19);
    const double mean = static_cast<double>(total_nodes(system, kMaxHorizon)) / 0x1p62;
    EXPECT_GT(mean, 19 * 14 / 4.0);
    EXPECT_LT(mean, 19 * 15 / 4.0 + 19);
}

TEST(TreeVariance, NodesBetweenAreThoseOfOneReleaseAlone) {
    for (const int k : {2, 3, 4, 5, 8, 19})
        for (const bool plain : {true, false}) {
            const DigitSystem system = plain ? DigitSystem::plain(k) : DigitSystem::offset(k);
            for (std::int64_t t = 0; t <= 150; ++t)
                for (std::int64_t since = 0; since <= t; ++since) {
                    std::set<test::Node> one;
                    std::set<test::Node> other;
                    for (const auto& [node, sign] :
                         test::nodes_by_definition(t, k, system.lowest()))
                        one.insert(node);
                    for (const auto& [node, sign] :
                         test::nodes_by_definition(since, k, system.lowest()))
                        if (one.erase(node) == 0)
                            other.insert(node);
                    ASSERT_EQ(nodes_between(system, since, t),
                              static_cast<std::int64_t>(one.size() + other.size()))
                        << "k " << k << ": " << t << " since " << since;
                }
        }
}

} // namespace
} // namespace dp_counter
