// Against the definition, by brute force: cut a person's events into own windows, sort each window
// by time and rank, take the first. And the promise itself: a window more or less changes at most
// the bound, and nothing of other windows, however ticks divide the events.
#include "core/count/person_bound.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace dp_counter {
namespace {

struct Row {
    std::int64_t time;
    std::int64_t group;
    std::int64_t value;
    friend auto operator<=>(const Row&, const Row&) = default;
};

struct Story {
    std::int64_t per; ///< length of a window
    std::int64_t phase;
    std::int64_t every; ///< of a period; period 0 begins at 0
    BoundRule rule;
    std::vector<std::int64_t> ticks; ///< ends of what each tick reads, in periods' boundaries

    [[nodiscard]] std::int64_t window(std::int64_t time) const {
        return floor_of(time - phase, per);
    }
    [[nodiscard]] std::int64_t step(std::int64_t time) const { return floor_of(time, every); }
    static std::int64_t floor_of(std::int64_t a, std::int64_t b) {
        return a / b - (a % b < 0 ? 1 : 0);
    }
};

std::uint64_t rank(std::int64_t time, const Event& event) {
    std::uint64_t hash = 1469598103934665603U;
    for (const std::int64_t part : {time, event.group, event.value, event.copy})
        hash = (hash ^ static_cast<std::uint64_t>(part)) * 1099511628211U;
    return hash % 13; // some are equal
}

using Counted = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t>;

/// (step, group, value) to how often, of each window.
using ByWindow = std::map<std::int64_t, Counted>;

class Tick {
public:
    Tick(const Story& story, Counted& counted) : story_(story), counted_(counted) {}
    void count(std::int64_t step, std::int64_t group, std::int64_t value) {
        ++counted_[{step, group, value}];
    }
    static std::uint64_t rank(std::int64_t time, const Event& event) {
        return dp_counter::rank(time, event);
    }
    Event* allocate(std::size_t n) {
        blocks_.emplace_back(new Event[n]);
        return blocks_.back().get();
    }

private:
    const Story& story_;
    Counted& counted_;
    std::vector<std::unique_ptr<Event[]>> blocks_;
};

/// What the code under test counts.
Counted count(const Story& story, std::vector<Row> rows) {
    std::sort(rows.begin(), rows.end());
    Counted counted;
    Tally tally{-1000000, 0};
    std::size_t next = 0;
    for (const std::int64_t end : story.ticks) {
        Tick tick(story, counted);
        PersonBound bound(story.rule);
        bound.begin(tally);
        for (; next < rows.size() && rows[next].time < end; ++next) {
            const Row& row = rows[next];
            bound.add(
                {row.time, story.window(row.time), story.step(row.time), row.group, row.value},
                tick);
        }
        tally = bound.end(tick);
    }
    return counted;
}

/// What the definition counts, window by window.
ByWindow expected(const Story& story, const std::vector<Row>& rows) {
    std::map<Row, std::int64_t> copies;
    std::vector<std::tuple<std::int64_t, std::uint64_t, Row, std::int64_t>> all;
    for (const Row& row : rows) {
        if (row.time >= story.ticks.back())
            continue;
        const std::int64_t copy = copies[row]++;
        all.emplace_back(row.time, rank(row.time, {0, row.group, row.value, copy}), row, copy);
    }
    std::sort(all.begin(), all.end());
    ByWindow counted;
    std::map<std::int64_t, std::int64_t> used;
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (const auto& [time, place, row, copy] : all) {
        const std::int64_t window = story.window(time);
        const std::int64_t step = story.step(time);
        const auto once = std::pair(step, story.rule.per_person == 0 ? 0 : window);
        if (story.rule.once && seen.contains(once))
            continue;
        if (story.rule.per_person != 0 && used[window] == story.rule.per_person)
            continue;
        ++used[window];
        seen.insert(once);
        if (step >= 0)
            ++counted[window][{step, row.group, row.value}];
    }
    return counted;
}

Counted all_of(const ByWindow& windows) {
    Counted all;
    for (const auto& [window, counted] : windows)
        for (const auto& [cell, n] : counted)
            all[cell] += n;
    return all;
}

Story random_story(std::mt19937_64& random) {
    const auto below = [&](int n) {
        return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
    };
    Story story{};
    story.per = 2 + below(12);
    story.phase = below(static_cast<int>(story.per));
    story.every = 1 + below(6);
    story.rule = {below(5), below(2) == 1};
    if (story.rule.per_person == 0)
        story.rule.once = true;
    std::int64_t end = 0;
    for (int n = static_cast<int>(1 + below(6)); n > 0; --n)
        story.ticks.push_back(end += story.every * (1 + below(5)));
    return story;
}

std::vector<Row> random_rows(std::mt19937_64& random, const Story& story) {
    std::vector<Row> rows(random() % 40);
    for (Row& row : rows)
        row = {static_cast<std::int64_t>(random() % 50) - story.per,
               static_cast<std::int64_t>(random() % 3), static_cast<std::int64_t>(random() % 2)};
    return rows;
}

TEST(PersonBound, CountsWhatTheDefinitionCounts) {
    std::mt19937_64 random(1);
    for (int run = 0; run < 20000; ++run) {
        const Story story = random_story(random);
        const std::vector<Row> rows = random_rows(random, story);
        ASSERT_EQ(count(story, rows), all_of(expected(story, rows)))
            << "run " << run << " per_person " << story.rule.per_person << " once "
            << story.rule.once;
    }
}

// The tally has the newest window of a person: the bound of an earlier one is used up.
TEST(PersonBound, AnEventOfAnEarlierWindowDoesNotCount) {
    const Story story{10, 0, 10, {2, false}, {}};
    for (const bool once : {false, true}) {
        Counted counted;
        Tick tick(story, counted);
        PersonBound bound({2, once});
        bound.begin({5, 0});
        bound.add({40, 4, 4, 0, 0}, tick);
        bound.add({50, 5, 5, 0, 0}, tick);
        const Tally tally = bound.end(tick);
        EXPECT_EQ(counted, (Counted{{{5, 0, 0}, 1}})) << once;
        EXPECT_EQ(tally.window, 5);
        EXPECT_EQ(tally.used, 1);
    }
}

// A person inherits nothing from the one before.
// At least the same share is used up, and less than one event more: what is left costs no more than
// what was not used.
TEST(PersonBound, ABoundTakesOverWhatIsUsedOfAnotherOne) {
    for (std::int64_t from = 1; from <= 12; ++from) {
        for (std::int64_t to = 1; to <= 12; ++to) {
            for (std::int64_t used = 0; used <= from; ++used) {
                const std::int64_t now = converted(used, from, to);
                EXPECT_GE(now * from, used * to) << used << " of " << from << " to " << to;
                EXPECT_LT((now - 1) * from, used * to) << used << " of " << from << " to " << to;
            }
            EXPECT_EQ(converted(2 * from, from, to), to); // of two persons with one digest
        }
    }
    constexpr std::int64_t kMost = 1000000;
    EXPECT_EQ(converted(kMost - 1, kMost, kMost), kMost - 1);
    EXPECT_EQ(converted(1, kMost, 1), 1);
}

TEST(PersonBound, EachPersonBeginsAfresh) {
    const Story story{10, 0, 10, {1, true}, {}};
    for (const std::int64_t per_person : {0, 1}) {
        Counted counted;
        Tick tick(story, counted);
        PersonBound bound({per_person, true});
        for (int person = 0; person < 3; ++person) {
            bound.begin({-1, 0});
            for (const std::int64_t time : {7, 8})
                bound.add({time, 0, story.step(time), 0, 0}, tick);
            (void)bound.end(tick);
        }
        EXPECT_EQ(counted, (Counted{{{0, 0, 0}, 3}}));
    }
}

TEST(PersonBound, AWindowChangesAtMostItsBound) {
    std::mt19937_64 random(2);
    int tight = 0;
    for (int run = 0; run < 20000; ++run) {
        const Story story = random_story(random);
        const std::vector<Row> rows = random_rows(random, story);
        if (rows.empty())
            continue;
        const std::int64_t window = story.window(rows.front().time);
        std::vector<Row> without;
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(without),
                     [&](const Row& row) { return story.window(row.time) != window; });
        const Counted with = count(story, rows);
        const Counted less = count(story, without);
        std::int64_t l1 = 0;
        Counted all = with;
        all.insert(less.begin(), less.end());
        std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> cells; // values are of 1
        for (const auto& [cell, n] : all) {
            const auto of = [&](const Counted& counted) {
                const auto found = counted.find(cell);
                return found == counted.end() ? 0 : found->second;
            };
            cells[{std::get<0>(cell), std::get<1>(cell)}] += of(with) - of(less);
        }
        for (const auto& [cell, n] : cells)
            l1 += std::abs(n);
        // A counter of persons without a bound: the periods that a window touches, and one more for
        // the group that a person moves to.
        const std::int64_t most = story.rule.per_person != 0
                                      ? story.rule.per_person
                                      : (story.per + story.every - 2) / story.every + 2;
        ASSERT_LE(l1, most) << "run " << run;
        tight += l1 == most ? 1 : 0;
    }
    EXPECT_GT(tight, 1000);
}

/// How many days have 0, 1 or 2 events; bit pairs of a number.
std::vector<Row> rows_of(int pattern, int days) {
    std::vector<Row> rows;
    for (int day = 0; day < days; ++day, pattern /= 3)
        rows.insert(rows.end(), static_cast<std::size_t>(pattern % 3), Row{day, 0, 0});
    return rows;
}

/// What dp_source_contributions releases, without noise: windows by their number of events.
std::map<std::int64_t, std::int64_t> contributions(const Story& story,
                                                   const std::vector<Row>& rows) {
    std::map<std::int64_t, std::int64_t> events;
    for (const Row& row : rows)
        ++events[story.window(row.time)];
    std::map<std::int64_t, std::int64_t> windows;
    for (const auto& [window, n] : events)
        ++windows[n];
    return windows;
}

template <class Cells>
std::int64_t l1_of(Cells a, const Cells& b) {
    std::int64_t l1 = 0;
    for (const auto& [cell, n] : b)
        a[cell] -= n;
    for (const auto& [cell, n] : a)
        l1 += std::abs(n);
    return l1;
}

// All rows of any n windows' length, all histories, all phases: a counter pays n + 2, as a window
// that loses its end pays 1; contributions, which put each window into one cell, n + 3.
TEST(PersonBound, RowsOfAnyDaysCostWhatTheGuideSays) {
    constexpr int kDays = 8;
    constexpr int kPatterns = 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3;
    for (const std::int64_t per : {std::int64_t{2}, std::int64_t{3}})
        for (const std::int64_t bound : {1, 2})
            for (std::int64_t n = 1; n * per <= 4; ++n) {
                std::int64_t counter = 0;
                std::int64_t histogram = 0;
                for (std::int64_t phase = 0; phase < per; ++phase)
                    for (int pattern = 0; pattern < kPatterns; ++pattern) {
                        const Story story{per, phase, 1, {bound, false}, {kDays}};
                        const std::vector<Row> rows = rows_of(pattern, kDays);
                        const Counted counted = count(story, rows);
                        const auto windows = contributions(story, rows);
                        for (std::int64_t from = 0; from + n * per <= kDays; ++from) {
                            std::vector<Row> rest = rows;
                            std::erase_if(rest, [&](const Row& row) {
                                return row.time >= from && row.time < from + n * per;
                            });
                            counter = std::max(counter, l1_of(counted, count(story, rest)));
                            histogram =
                                std::max(histogram, l1_of(windows, contributions(story, rest)));
                        }
                    }
                EXPECT_EQ(counter, (n + 2) * bound) << "per " << per << " bound " << bound;
                EXPECT_EQ(histogram, n + 3) << "per " << per;
            }
}

/// A counter of bound a that one of bound b continues after the first tick.
struct Pair {
    std::int64_t a, b, epsilon_a, epsilon_b;
};

/// Steps of one event a day, those of the first tick in a counter of its own: what they add to the
/// cost, times a * b.
Counted count_both(const Story& story, const Pair& pair, const std::vector<Row>& rows) {
    Counted counted;
    Tally tally{-1000000, 0};
    std::int64_t from = 0;
    for (const std::int64_t end : story.ticks) {
        const bool is_first = end == story.ticks.front();
        Counted cells;
        Tick tick(story, cells);
        PersonBound bound({is_first ? pair.a : pair.b, false});
        if (!is_first)
            tally.used = converted(tally.used, pair.a, pair.b);
        bound.begin(tally);
        for (const Row& row : rows)
            if (row.time >= from && row.time < end)
                bound.add({row.time, story.window(row.time), row.time, 0, 0}, tick);
        tally = bound.end(tick);
        for (const auto& [cell, n] : cells)
            counted[cell] = n * (is_first ? pair.epsilon_a * pair.b : pair.epsilon_b * pair.a);
        from = end;
    }
    return counted;
}

/// The most that one row more, any one window, and all rows of any `per` days cost.
struct JointCosts {
    std::int64_t row = 0, window = 0, days = 0;
};

JointCosts joint_costs(std::int64_t per, int days, const Pair& pair) {
    JointCosts most;
    int patterns = 1;
    for (int day = 0; day < days; ++day)
        patterns *= 3;
    for (std::int64_t phase = 0; phase < per; ++phase)
        for (int pattern = 0; pattern < patterns; ++pattern) {
            const Story story{per, phase, 1, {}, {days / 2, days}};
            const std::vector<Row> rows = rows_of(pattern, days);
            const Counted counted = count_both(story, pair, rows);
            const auto without = [&](auto is_gone) {
                std::vector<Row> rest = rows;
                std::erase_if(rest, is_gone);
                return l1_of(counted, count_both(story, pair, rest));
            };
            for (std::int64_t from = 0; from < days; ++from) {
                std::vector<Row> more = rows;
                more.insert(std::upper_bound(more.begin(), more.end(), Row{from, 0, 0}),
                            {from, 0, 0});
                most.row = std::max(most.row, l1_of(counted, count_both(story, pair, more)));
                most.window = std::max(most.window, without([&](const Row& row) {
                                           return story.window(row.time) == story.window(from);
                                       }));
                most.days = std::max(most.days, without([&](const Row& row) {
                                         return row.time >= from && row.time < from + per;
                                     }));
            }
        }
    return most;
}

// All histories of a person, all phases: what the guarantee of a counter that continues another one
// says of both (docs/derivation.md, section 12).
TEST(PersonBound, AContinuedCounterCostsWhatTheGuaranteeSays) {
    int reached = 0;
    for (const std::int64_t per : {std::int64_t{2}, std::int64_t{3}})
        for (const Pair& pair : {Pair{1, 3, 1, 1},
                                 {3, 1, 1, 1},
                                 {2, 3, 1, 2},
                                 {3, 2, 2, 1},
                                 {1, 1, 1, 2},
                                 {2, 2, 2, 1},
                                 {2, 4, 1, 1},
                                 {1, 2, 3, 1}}) {
            const auto [a, b, epsilon_a, epsilon_b] = pair;
            const std::int64_t most = std::max(epsilon_a, epsilon_b) * a * b;
            const std::int64_t row =
                std::max({2 * epsilon_a * b, epsilon_a * b + (b + a - 1) / a * epsilon_b * a,
                          2 * epsilon_b * a});
            const JointCosts costs = joint_costs(per, 6, pair);
            EXPECT_LE(costs.row, row) << a << " to " << b;
            EXPECT_LE(costs.window, most) << a << " to " << b;
            EXPECT_LE(costs.days, 3 * most) << a << " to " << b;
            reached += int{costs.row == row} + int{costs.window == most};
        }
    EXPECT_GT(reached, 24);
}

} // namespace
} // namespace dp_counter
