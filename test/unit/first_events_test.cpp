// Against the definition: sort all events of a person, take the first.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/count/first_events.hpp"

namespace dp_counter {
namespace {

std::vector<Event> first(const std::vector<Event>& all, std::int64_t bound) {
    std::vector<Event> memory(1);
    FirstEvents events;
    events.begin(memory.data(), memory.size(), bound);
    for (const Event& event : all) {
        if (!events.has_room()) {
            memory.resize(2 * memory.size());
            events.move_to(memory.data(), memory.size());
        }
        events.add(event);
    }
    const Event* kept = events.finish();
    EXPECT_LE(memory.size(), std::max<std::size_t>(2 * static_cast<std::size_t>(bound), 1));
    return {kept, kept + events.size()};
}

void sort(std::vector<Event>& events) {
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return std::pair(a.cell, a.value) < std::pair(b.cell, b.value);
    });
}

TEST(FirstEvents, AreTheFirstOfTheTotalOrder) {
    std::mt19937_64 random(1);
    for (int run = 0; run < 2000; ++run) {
        std::vector<Event> all(random() % 60);
        for (Event& event : all)
            event = {static_cast<std::int64_t>(random() % 6),
                     static_cast<std::int64_t>(random() % 4)};
        const auto bound = static_cast<std::int64_t>(random() % 9);
        std::vector<Event> kept = first(all, bound);
        std::vector<Event> expected = all;
        sort(kept);
        sort(expected);
        expected.resize(std::min(expected.size(), static_cast<std::size_t>(bound)));
        ASSERT_EQ(kept.size(), expected.size());
        for (std::size_t i = 0; i < kept.size(); ++i) {
            EXPECT_EQ(kept[i].cell, expected[i].cell);
            EXPECT_EQ(kept[i].value, expected[i].value);
        }
    }
}

TEST(FirstEvents, DoNotDependOnTheOrderInWhichTheyCome) {
    std::vector<Event> all = {{3, 0}, {1, 7}, {1, 2}, {2, 0}, {1, 2}, {0, 9}};
    std::sort(all.begin(), all.end());
    do {
        std::vector<Event> kept = first(all, 3);
        sort(kept);
        ASSERT_EQ(kept.size(), 3U);
        EXPECT_EQ(kept[0].cell, 0);
        EXPECT_EQ(kept[1].value, 2);
        EXPECT_EQ(kept[2].value, 2);
    } while (std::next_permutation(all.begin(), all.end()));
}

} // namespace
} // namespace dp_counter
