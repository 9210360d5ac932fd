// Against the definition: sort all events of one time, take the first.
#include "core/count/first_events.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace dp_counter {
namespace {

/// Memory of exactly the size that was asked for, so that AddressSanitizer sees who passes its end.
class Memory {
public:
    Event* operator()(std::size_t size) {
        blocks_.emplace_back(new Event[size]);
        largest_ = std::max(largest_, size);
        return blocks_.back().get();
    }
    [[nodiscard]] std::size_t largest() const { return largest_; }

private:
    std::vector<std::unique_ptr<Event[]>> blocks_;
    std::size_t largest_ = 0;
};

/// Some ranks are equal.
std::uint64_t rank(const Event& event) {
    return static_cast<std::uint64_t>(event.group * 7 + event.value * 3 + event.copy) % 11;
}

bool is_before(const Event& a, const Event& b) {
    return std::tuple(rank(a), a.group, a.value, a.copy) <
           std::tuple(rank(b), b.group, b.value, b.copy);
}

bool is_equal(const Event& a, const Event& b) {
    return a.group == b.group && a.value == b.value && a.copy == b.copy;
}

void expect_first(FirstEvents<>& events, Memory& memory, std::vector<Event> all,
                  std::int64_t bound) {
    events.begin(bound);
    for (const Event& event : all)
        events.add(event, rank, memory);
    std::vector<Event> kept(events.events().begin(), events.events().end());
    std::sort(kept.begin(), kept.end(), is_before);
    std::sort(all.begin(), all.end(), is_before);
    all.resize(std::min(all.size(), static_cast<std::size_t>(std::max<std::int64_t>(bound, 0))));
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), all.begin(), all.end(), is_equal))
        << "bound " << bound << ", " << kept.size() << " of " << all.size();
}

std::vector<Event> random_events(std::mt19937_64& random, std::size_t count) {
    std::vector<Event> all(count);
    for (Event& event : all)
        event = {0, static_cast<std::int64_t>(random() % 6),
                 static_cast<std::int64_t>(random() % 4), static_cast<std::int64_t>(random() % 3)};
    return all;
}

TEST(FirstEvents, AreTheFirstOfTheTotalOrder) {
    std::mt19937_64 random(1);
    Memory memory;
    FirstEvents<> events; // one person after the other, in the same memory
    for (int run = 0; run < 2000; ++run)
        expect_first(events, memory, random_events(random, random() % 60),
                     static_cast<std::int64_t>(random() % 9));
}

TEST(FirstEvents, AllMoveWhenTheMemoryGrows) {
    std::mt19937_64 random(2);
    for (const std::int64_t bound : {63, 64, 65, 127, 128, 129, 1000, 5000}) {
        Memory memory;
        FirstEvents<> events;
        expect_first(events, memory, random_events(random, 3000), bound);
        EXPECT_LT(memory.largest(), std::max<std::size_t>(2 * static_cast<std::size_t>(bound), 65));
    }
}

TEST(FirstEvents, AUsedUpBoundStoresNothing) {
    const std::function<Event*(std::size_t)> none = [](std::size_t) -> Event* {
        throw std::logic_error("asked for memory");
    };
    for (const std::int64_t bound : {0, -1}) {
        FirstEvents<> events;
        events.begin(bound);
        for (int i = 0; i < 1000; ++i)
            events.add({0, i, 1, 0}, rank, none);
        EXPECT_EQ(events.events().size(), 0U);
        Memory memory; // the same where the person before has left memory behind
        expect_first(events, memory, {{0, 3, 1, 0}, {0, 2, 1, 0}}, 2);
        expect_first(events, memory, std::vector<Event>(1000, Event{0, 1, 1, 0}), bound);
    }
}

TEST(FirstEvents, DoNotDependOnTheOrderInWhichTheyCome) {
    std::vector<Event> all = {{0, 3, 0, 0}, {0, 1, 7, 0}, {0, 1, 2, 0},
                              {0, 2, 0, 0}, {0, 1, 2, 1}, {0, 0, 9, 0}};
    std::sort(all.begin(), all.end(), is_before);
    Memory memory;
    FirstEvents<> events;
    do
        expect_first(events, memory, all, 3);
    while (std::next_permutation(all.begin(), all.end(), is_before));
}

struct CountingOrder {
    static inline std::int64_t comparisons = 0;
    bool operator()(const Event& a, const Event& b) const noexcept {
        ++comparisons;
        return a < b;
    }
};

TEST(FirstEvents, AreRankedWhereThereAreMoreThanCount) {
    Memory memory;
    FirstEvents<> events;
    int ranked = 0;
    const auto counting = [&](const Event& event) {
        ++ranked;
        return rank(event);
    };
    for (const auto& [bound, expected] : {std::pair{8, 0}, {7, 8}, {3, 8}, {1, 8}, {0, 0}}) {
        events.begin(bound);
        ranked = 0;
        for (std::int64_t i = 0; i < 8; ++i)
            events.add({0, i, 0, 0}, counting, memory);
        EXPECT_EQ(ranked, expected) << "bound " << bound;
    }
}

TEST(FirstEvents, CostALogarithmOfTheBoundEach) {
    constexpr std::int64_t kEvents = 150000;
    for (const std::int64_t bound : {1, 63, 64, 65, 4095, 131071, 131072, 131073, 1000000}) {
        Memory memory;
        FirstEvents<CountingOrder> events;
        CountingOrder::comparisons = 0;
        events.begin(bound);
        for (std::int64_t i = kEvents; i > 0; --i) // every event replaces one: the most work
            events.add(
                {1, 1, i, 0},
                [](const Event& event) { return static_cast<std::uint64_t>(event.copy); }, memory);
        // A heap of n elements compares less than log2(n) times to push, twice that to pop.
        EXPECT_LE(CountingOrder::comparisons, kEvents * 3 * 18) << "bound " << bound;
    }
}

} // namespace
} // namespace dp_counter
