#include "core/count/active_path.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace dp_counter {
namespace {

using Path = std::vector<int>;

struct TimeAndGroup {
    std::int64_t time;
    std::int64_t group = 1;
};

/// How often a person with these events is counted at each end, in ticks of these lengths; in group
/// 1 as 1, in group 2 as 100.
Path path_of(const std::vector<TimeAndGroup>& events, std::int64_t days,
             const std::vector<std::int64_t>& ends, const std::vector<std::size_t>& ticks) {
    Path path;
    std::size_t first = 0;
    std::size_t next = 0;
    for (const std::size_t count : ticks) {
        std::vector<std::int64_t> of_tick;
        std::vector<std::int64_t> begins;
        for (std::size_t i = first; i < first + count; ++i) {
            of_tick.push_back(ends[i]);
            begins.push_back(ends[i] - days);
        }
        Path stock(count);
        ActivePath active(of_tick, begins);
        active.begin();
        const auto cover = [&](const TimeAndGroup& event) {
            active.cover(event.time, event.group,
                         [&](std::int64_t group, std::int64_t from, std::int64_t to, int n) {
                             for (std::int64_t t = from; t < to; ++t)
                                 stock[static_cast<std::size_t>(t)] += n * (group == 1 ? 1 : 100);
                         });
        };
        if (next > 0)
            cover(events[next - 1]);
        for (; next < events.size() && events[next].time < of_tick.back(); ++next)
            cover(events[next]);
        path.insert(path.end(), stock.begin(), stock.end());
        first += count;
    }
    return path;
}

TEST(ActivePath, IsThatOfTheDesign) {
    const std::vector<std::int64_t> ends{2, 3, 4, 5, 6, 7, 8, 9};
    EXPECT_EQ(path_of({{1}, {2}, {4}}, 3, ends, {8}), (Path{1, 1, 1, 1, 1, 1, 0, 0}));
    EXPECT_EQ(path_of({{4}}, 3, ends, {8}), (Path{0, 0, 0, 1, 1, 1, 0, 0}));
    // One tick for many periods: not before the event, and not long after it.
    EXPECT_EQ(path_of({{9}}, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, {13}),
              (Path{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0}));
    EXPECT_EQ(path_of({}, 3, ends, {8}), Path(8));
    // The group is the last event's, from its step on.
    EXPECT_EQ(path_of({{1, 1}, {4, 2}}, 3, ends, {8}), (Path{1, 1, 1, 100, 100, 100, 0, 0}));
    EXPECT_EQ(path_of({{1, 1}, {2, 2}, {4, 1}}, 9, ends, {1, 7}),
              (Path{1, 100, 100, 1, 1, 1, 1, 1}));
}

TEST(ActivePath, DoesNotDependOnTicks) {
    std::mt19937 random(5);
    const auto below = [&](int end) {
        return static_cast<int>(random() % static_cast<unsigned>(end));
    };
    for (int i = 0; i < 20000; ++i) {
        const int every = 1 + below(4);
        const int days = 1 + below(9);
        std::vector<std::int64_t> ends;
        for (int t = 1; t <= 12; ++t)
            ends.push_back(t * every + (t > 6 && i % 2 == 0 ? -1 : 0)); // two may be at one time
        std::vector<TimeAndGroup> events;
        for (std::int64_t t = -8; t < ends.back(); ++t)
            if (below(5) == 0)
                events.push_back({t, 1 + below(2)});
        std::vector<std::size_t> ticks;
        for (std::size_t left = 12; left > 0; left -= ticks.back())
            ticks.push_back(1 + static_cast<std::size_t>(below(static_cast<int>(left))));
        Path expected;
        for (const std::int64_t end : ends) {
            expected.push_back(0);
            for (const TimeAndGroup& event : events)
                if (event.time < end)
                    expected.back() = event.time < end - days ? 0 : event.group == 1 ? 1 : 100;
        }
        ASSERT_EQ(path_of(events, days, ends, ticks), expected);
    }
}

} // namespace
} // namespace dp_counter
