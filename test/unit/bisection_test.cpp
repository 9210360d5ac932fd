#include "core/base/bisection.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace dp_counter {
namespace {

TEST(Bisection, FindsEveryPlaceInEveryRange) {
    for (std::int64_t first = -3; first <= 3; ++first)
        for (std::int64_t last = first - 1; last <= 9; ++last)
            for (std::int64_t place = first; place <= last + 1; ++place)
                EXPECT_EQ(first_without(first, last, [&](std::int64_t i) { return i < place; }),
                          place);
}

TEST(Bisection, OfAnEmptyRangeIsItsBeginning) {
    EXPECT_EQ(first_without(5, 2, [](int) { return true; }), 5);
}

} // namespace
} // namespace dp_counter
