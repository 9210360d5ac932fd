#include "core/tree/offset_digits.hpp"

#include <gtest/gtest.h>

#include "unit/support.hpp"

namespace dp_counter {
namespace {

constexpr int kRadices[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 19, 20, 101};

std::vector<DigitSystem> systems(int k) {
    return {DigitSystem::plain(k), DigitSystem::offset(k)};
}

TEST(DigitSystem, HasThePapersRanges) {
    EXPECT_EQ(DigitSystem::plain(10).lowest(), 0);
    EXPECT_EQ(DigitSystem::plain(10).highest(), 9);
    EXPECT_EQ(DigitSystem::offset(19).lowest(), -9);
    EXPECT_EQ(DigitSystem::offset(19).highest(), 9);
    EXPECT_EQ(DigitSystem::offset(20).lowest(), -9); // -k/2 + 1
    EXPECT_EQ(DigitSystem::offset(20).highest(), 10);
    EXPECT_EQ(DigitSystem::offset(2).lowest(), 0); // the binary tree
    EXPECT_EQ(DigitSystem::offset(3).lowest(), -1);
}

TEST(DigitSystem, SplitsIntoTheOnlyDigits) {
    for (const int k : kRadices)
        for (const DigitSystem& system : systems(k))
            for (std::int64_t t = 0; t <= 5000; ++t) {
                std::vector<int> digits;
                for (std::int64_t rest = t; rest != 0;)
                    digits.push_back(system.split(rest));
                ASSERT_EQ(digits, test::digits_by_search(t, k, system.lowest())) << k << " " << t;
            }
}

TEST(DigitSystem, CapacityIsTheLastNumberOfItsHeight) {
    for (const int k : kRadices)
        for (const DigitSystem& system : systems(k))
            for (int height = 1; system.capacity(height) < 20000; ++height) {
                const std::int64_t last = system.capacity(height);
                const auto size = [&](std::int64_t t) {
                    return static_cast<int>(test::digits_by_search(t, k, system.lowest()).size());
                };
                EXPECT_EQ(size(last), height) << k;
                EXPECT_EQ(size(last + 1), height + 1) << k;
                EXPECT_EQ(system.height(last), height);
                EXPECT_EQ(system.height(last + 1), height + 1);
            }
}

TEST(DigitSystem, HeightsAreComputedInIntegers) {
    EXPECT_EQ(DigitSystem::plain(5).height(124), 3); // log(125) / log(5) > 3 in doubles
    EXPECT_EQ(DigitSystem::plain(5).height(125), 4);
    EXPECT_EQ(DigitSystem::offset(4).height(10), 2); // ceil(log_4(20)) is one too high
    EXPECT_EQ(DigitSystem::plain(2).height(kMaxHorizon), kMaxHeight);
    EXPECT_EQ(DigitSystem::plain(2).height(kMaxHorizon - 1), kMaxHeight - 1);
    EXPECT_EQ(DigitSystem::offset(3).height(kMaxHorizon), 40);
    EXPECT_EQ(DigitSystem::plain(kMaxRadix).height(kMaxHorizon), 4);
    EXPECT_EQ(DigitSystem::plain(kMaxRadix).height(1), 1);
}

} // namespace
} // namespace dp_counter
