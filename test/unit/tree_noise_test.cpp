// The mechanism's matrix, read off the running code by feeding it one unit of noise at a time, and
// compared with the paper's definitions.
#include "core/tree/tree_noise.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "unit/support.hpp"

namespace dp_counter {
namespace {

using test::Node;

struct Block {
    explicit Block(const DigitSystem& system, int height)
        : memory(new std::int64_t[TreeNoise::bytes(system, height) / 8 + 1]),
          noise(TreeNoise::create(memory.get(), system, height)) {}
    std::unique_ptr<std::int64_t[]> memory;
    TreeNoise* noise;
};

/// steps[i] = the steps at which draw number i is part of the noise; fails on a weight but 0 and 1.
std::vector<std::set<std::int64_t>> support_of_draws(const DigitSystem& system, int height,
                                                     std::int64_t horizon) {
    std::vector<std::set<std::int64_t>> steps;
    for (std::size_t unit = 0, draws = 1; unit < draws; ++unit) {
        Block block(system, height);
        std::size_t drawn = 0;
        steps.emplace_back();
        for (std::int64_t t = 1; t <= horizon; ++t) {
            const std::int64_t noise =
                block.noise->advance([&] { return std::int64_t{drawn++ == unit}; });
            EXPECT_TRUE(noise == 0 || noise == 1);
            if (noise != 0)
                steps.back().insert(t);
        }
        draws = drawn;
    }
    return steps;
}

/// The same for the paper's nodes: which steps use each.
std::map<Node, std::set<std::int64_t>> support_of_nodes(int k, int lowest, std::int64_t horizon) {
    std::map<Node, std::set<std::int64_t>> steps;
    for (std::int64_t t = 1; t <= horizon; ++t)
        for (const auto& [node, sign] : test::nodes_by_definition(t, k, lowest))
            steps[node].insert(t);
    return steps;
}

struct Case {
    int k;
    std::int64_t horizon;
};
constexpr Case kCases[] = {{2, 70},  {3, 121}, {4, 100},  {5, 130}, {6, 90},   {7, 180},
                           {8, 100}, {9, 60},  {10, 120}, {11, 70}, {19, 190}, {20, 100}};

TEST(TreeNoise, DrawsStandForThePapersNodes) {
    // One draw for each node, used at exactly the node's steps: the streaming state is Algorithm 2.
    for (const auto& [k, horizon] : kCases)
        for (const DigitSystem& system : {DigitSystem::plain(k), DigitSystem::offset(k)}) {
            const int height = system.height(horizon);
            auto draws = support_of_draws(system, height, horizon);
            // A carry may draw subtracted nodes whose use lies beyond the horizon's last step; all
            // are used at once, so none is without a step.
            std::vector<std::set<std::int64_t>> expected;
            for (const auto& [node, steps] : support_of_nodes(k, system.lowest(), horizon))
                expected.push_back(steps);
            std::sort(draws.begin(), draws.end());
            std::sort(expected.begin(), expected.end());
            EXPECT_EQ(draws, expected) << "k = " << k << " lowest = " << system.lowest();
        }
}

/// A column of the table in docs/derivation.md: at t = 1, 2, ... the digits, nodes, draws.
struct ExampleRow {
    std::vector<std::int64_t> digits; ///< highest first
    std::vector<std::int64_t> nodes;
    std::int64_t draws;
};
std::vector<ExampleRow> example_of_derivation(std::size_t first_column) {
    std::ifstream page("docs/derivation.md");
    std::vector<ExampleRow> rows;
    for (std::string line; std::getline(page, line);) {
        std::vector<std::vector<std::int64_t>> cells;
        std::istringstream columns(line);
        for (std::string cell; std::getline(columns, cell, '|');) {
            std::istringstream numbers(cell);
            cells.emplace_back(std::istream_iterator<std::int64_t>(numbers),
                               std::istream_iterator<std::int64_t>());
        }
        // "| t | digits | nodes | draws | digits | nodes | draws |": the first cell is empty
        if (cells.size() == 8 && cells[1].size() == 1 && !cells[first_column].empty() &&
            cells[1][0] == static_cast<std::int64_t>(rows.size()) + 1)
            rows.push_back(
                {cells[first_column], cells[first_column + 1], cells[first_column + 2].at(0)});
    }
    return rows;
}

TEST(TreeNoise, FollowsTheDerivationsExample) {
    for (const auto& [k, column] : {std::pair<int, std::size_t>{5, 2}, {4, 5}}) {
        const DigitSystem system = DigitSystem::offset(k);
        const std::vector<ExampleRow> rows = example_of_derivation(column);
        ASSERT_EQ(static_cast<std::int64_t>(rows.size()), system.capacity(2)) << k;
        Block block(system, 2);
        std::int64_t t = 0;
        for (const ExampleRow& row : rows) {
            std::int64_t rest = ++t;
            const std::int64_t low = system.split(rest);
            const std::int64_t high = system.split(rest);
            EXPECT_EQ(row.digits, (std::vector<std::int64_t>{high, low})) << k << " " << t;

            std::vector<std::int64_t> nodes; // the paper's Algorithm 2
            std::int64_t p = 0;
            for (const auto& [digit, block_size] : {std::pair{high, std::int64_t{k}}, {low, 1}})
                for (std::int64_t j = 0; j < std::abs(digit); ++j)
                    nodes.push_back(p += digit < 0 ? -block_size : block_size);
            EXPECT_EQ(row.nodes, nodes) << k << " " << t;

            std::int64_t draws = 0;
            const std::int64_t terms = block.noise->advance([&] {
                ++draws;
                return std::int64_t{1};
            });
            EXPECT_EQ(terms, static_cast<std::int64_t>(nodes.size())) << k << " " << t;
            EXPECT_EQ(row.draws, draws) << k << " " << t;
        }
    }
}

TEST(TreeNoise, NodesMakeThePrefixSumsAndHoldEachBitOncePerLevel) {
    // L R = A: the signed nodes of t sum to x_1 + .. + x_t. The sensitivity: of all nodes of the
    // tree, not only those used, every bit lies in exactly height.
    for (const auto& [k, horizon] : kCases)
        for (const DigitSystem& system : {DigitSystem::plain(k), DigitSystem::offset(k)}) {
            const int height = system.height(horizon);
            std::set<Node> used;
            for (std::int64_t t = 1; t <= horizon; ++t) {
                std::map<std::int64_t, int> weight;
                for (const auto& [node, sign] : test::nodes_by_definition(t, k, system.lowest())) {
                    used.insert(node);
                    for (std::int64_t i = node.first; i <= node.last; ++i)
                        weight[i] += sign;
                }
                for (const auto& [i, w] : weight)
                    ASSERT_EQ(w, i <= t ? 1 : 0) << "k = " << k << " t = " << t;
            }
            std::map<std::int64_t, std::set<std::int64_t>> levels; // of bit i: sizes of its nodes
            for (const Node& node : used)
                for (std::int64_t i = node.first; i <= node.last; ++i)
                    ASSERT_TRUE(levels[i].insert(node.last - node.first + 1).second)
                        << "bit " << i << " is twice in a level, k = " << k;
            for (const auto& [i, sizes] : levels)
                ASSERT_LE(static_cast<int>(sizes.size()), height);
        }
}

TEST(TreeNoise, NumberOfDrawsIsAboutOneAStepAndDependsOnTimeAlone) {
    for (const int k : {2, 3, 4, 19, 20, 1001}) {
        for (const DigitSystem& system : {DigitSystem::plain(k), DigitSystem::offset(k)}) {
            constexpr std::int64_t kSteps = 100000;
            Block block(system, system.height(kSteps));
            std::int64_t drawn = 0;
            for (std::int64_t t = 1; t <= kSteps; ++t)
                (void)block.noise->advance([&] { return ++drawn; });
            EXPECT_LE(drawn, kSteps + 2 * k);
            EXPECT_GE(drawn, kSteps - 2 * k);
        }
    }
}

TEST(TreeNoise, SampleUsesAsManyNodesAsTheStepHas) {
    for (const int k : {2, 3, 4, 19, 20})
        for (const DigitSystem& system : {DigitSystem::plain(k), DigitSystem::offset(k)})
            for (std::int64_t t = 0; t <= 2000; ++t) {
                const std::int64_t nodes = TreeNoise::sample(system, system.height(2000), t,
                                                             [] { return std::int64_t{1}; });
                ASSERT_EQ(static_cast<std::size_t>(nodes),
                          test::nodes_by_definition(t, k, system.lowest()).size());
            }
}

TEST(TreeNoise, MayBeMovedInMemory) {
    const DigitSystem system = DigitSystem::offset(5);
    const int height = system.height(300);
    Block here(system, height);
    Block there(system, height);
    const auto nth = [](std::int64_t& n) {
        ++n;
        return n * n;
    };
    std::int64_t a = 0;
    std::int64_t b = 0;
    for (int t = 1; t <= 300; ++t) {
        std::memcpy(there.memory.get(), here.memory.get(), TreeNoise::bytes(system, height));
        b = a;
        const std::int64_t expected = here.noise->advance([&] { return nth(a); });
        const std::int64_t moved = there.noise->advance([&] { return nth(b); });
        ASSERT_EQ(moved, expected);
    }
}

TEST(TreeNoise, StoresNoMoreThanTheLemma) {
    for (const int k : {3, 19, 20, 101, 65535})
        for (const int height : {1, 2, 3}) {
            const std::size_t fixed = 64 + static_cast<std::size_t>(height) * 16;
            EXPECT_LE(TreeNoise::bytes(DigitSystem::offset(k), height),
                      fixed + static_cast<std::size_t>(height * (k / 2)) * 8);
            EXPECT_LE(TreeNoise::bytes(DigitSystem::plain(k), height), fixed);
        }
}

TEST(TreeNoise, RefusesToRunPastItsCapacityOrOverflow) {
    Block block(DigitSystem::offset(3), 2);
    for (int t = 1; t <= 4; ++t) // (3^2 - 1) / 2
        (void)block.noise->advance([] { return std::int64_t{0}; });
    EXPECT_THROW((void)block.noise->advance([] { return std::int64_t{0}; }), Error);
    EXPECT_THROW(
        (void)TreeNoise::sample(DigitSystem::offset(3), 2, 5, [] { return std::int64_t{0}; }),
        Error);

    Block full(DigitSystem::plain(10), 1);
    (void)full.noise->advance([] { return INT64_MAX; });
    EXPECT_THROW((void)full.noise->advance([] { return std::int64_t{1}; }), Error);
}

} // namespace
} // namespace dp_counter
