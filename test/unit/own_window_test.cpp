#include "core/count/own_window.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace dp_counter {
namespace {

TEST(OwnWindow, DaysRoundDownBeforeTheEpochToo) {
    EXPECT_EQ(day_of(0), 0);
    EXPECT_EQ(day_of(kMicrosecondsPerDay - 1), 0);
    EXPECT_EQ(day_of(kMicrosecondsPerDay), 1);
    EXPECT_EQ(day_of(-1), -1);
    EXPECT_EQ(day_of(-kMicrosecondsPerDay), -1);
    EXPECT_EQ(day_of(-kMicrosecondsPerDay - 1), -2);
    EXPECT_EQ(day_of(std::numeric_limits<std::int64_t>::min()), -106751992);
}

TEST(OwnWindow, ThePhaseIsTheBigEndianNumberModuloTheDays) {
    const unsigned char digest[] = {0x80, 0, 0, 0, 0, 0, 0, 0x01};
    EXPECT_EQ(phase_of(digest, 1), 0);
    EXPECT_EQ(phase_of(digest, 7), 2); // 2^63 is 1 modulo 7
    EXPECT_EQ(phase_of(digest, 10), 9);
    const unsigned char greatest[] = {255, 255, 255, 255, 255, 255, 255, 255};
    EXPECT_EQ(phase_of(greatest, 365), 220); // 2^64 - 1
    EXPECT_EQ(phase_of(greatest, 36525), 7590);
}

// Each day is in exactly one window of `per` days, and their numbers grow with time.
TEST(OwnWindow, WindowsFollowOneAnother) {
    for (const std::int32_t per : {1, 2, 7, 28, 365})
        for (std::int32_t phase = 0; phase < per; phase += per / 3 + 1) {
            std::int64_t window = own_window(-2000, phase, per);
            std::int64_t begin = first_day(window, phase, per);
            for (std::int64_t day = -2000; day < 2000; ++day) {
                const std::int64_t here = own_window(day, phase, per);
                EXPECT_LE(first_day(here, phase, per), day);
                EXPECT_GT(first_day(here + 1, phase, per), day);
                if (here != window) {
                    EXPECT_EQ(here, window + 1);
                    EXPECT_EQ(first_day(here, phase, per), day);
                    EXPECT_EQ(day - begin, per);
                    window = here;
                    begin = day;
                }
            }
        }
}

} // namespace
} // namespace dp_counter
