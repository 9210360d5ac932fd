#include <map>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/count/moving_windows.hpp"

namespace dp_counter {
namespace {

/// Releases of groups that begin at different steps; of single periods one of them misses a step.
struct Table {
    static constexpr std::int64_t kSteps = 30;
    std::map<std::string, std::int64_t> beginnings{{"", 1}, {"a", 1}, {"b", 4}, {"late", 17}};
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> releases;

    Table(bool is_extreme, bool is_cumulative) {
        std::mt19937_64 random(7); // NOLINT(cert-msc51-cpp): the same cases every time
        for (const auto& [group, first] : beginnings)
            for (std::int64_t step = first; step <= kSteps; ++step)
                if (is_cumulative || group != "a" || step != 12)
                    releases[{group, step}] = is_extreme
                                                  ? (random() % 2 == 0 ? INT64_MIN : INT64_MAX)
                                                  : static_cast<std::int64_t>(random() % 99) - 9;
    }
    [[nodiscard]] const std::int64_t* at(const std::string& group, std::int64_t step) const {
        const auto found = releases.find({group, step});
        return found == releases.end() ? nullptr : &found->second;
    }
    /// What the window must be, or nothing.
    [[nodiscard]] std::optional<int128> truth(const std::string& group, std::int64_t step,
                                              std::int64_t lag, bool is_cumulative) const {
        if (at(group, step) == nullptr)
            return {};
        if (is_cumulative) {
            if (const std::int64_t* base = at(group, step - lag))
                return int128{*at(group, step)} - *base;
            return step - lag + 1 == beginnings.at(group) ? std::optional<int128>(*at(group, step))
                                                          : std::nullopt;
        }
        int128 sum = 0;
        for (std::int64_t s = step - lag + 1; s <= step; ++s) {
            if (at(group, s) == nullptr)
                return {};
            sum += *at(group, s);
        }
        return sum;
    }
};

class Windows : public testing::TestWithParam<bool> {};

/// All steps, or those from `first` to `last` alone, from the releases that they need alone.
TEST_P(Windows, AreDifferencesAndSumsOfTheReleasesThatTheyNeed) {
    for (const bool is_extreme : {false, true}) {
        const Table table(is_extreme, GetParam());
        for (const std::int64_t lag : {1, 2, 7, 13, 29, 30, 31})
            for (const auto& [first, last] :
                 {std::pair<std::int64_t, std::int64_t>{1, 30}, {9, 9}, {14, 16}, {13, 30}}) {
                MovingWindows windows(lag, GetParam(), last);
                int visited = 0;
                for (std::int64_t step = 1; step <= last; ++step) {
                    const bool is_first = step >= first - lag && step <= last - lag + 1;
                    const bool is_needed =
                        GetParam() ? is_first || step >= first : step > first - lag;
                    if (!is_needed)
                        continue;
                    for (const auto& [group, beginning] : table.beginnings)
                        if (const std::int64_t* released = table.at(group, step))
                            windows.add(step, group, *released, -(*released / 2));
                    if (step < first)
                        continue;
                    for (std::int32_t group = 0; group < windows.groups(); ++group) {
                        const auto window = windows.window(group);
                        const auto truth = table.truth(windows.name(group), step, lag, GetParam());
                        ASSERT_EQ(window.has_value(), truth.has_value())
                            << windows.name(group) << ' ' << step << ' ' << lag;
                        if (!window)
                            continue;
                        ++visited;
                        EXPECT_TRUE(window->numbers.one == *truth)
                            << windows.name(group) << ' ' << step << ' ' << lag;
                        const bool begins =
                            GetParam() && table.at(windows.name(group), step - lag) == nullptr;
                        EXPECT_EQ(window->since, begins ? 0 : step - lag);
                    }
                }
                EXPECT_EQ(visited > 0, lag <= last);
            }
    }
}

TEST_P(Windows, AddUpBothNumbersOfAnAverage) {
    MovingWindows windows(2, GetParam(), 3);
    for (std::int64_t step = 1; step <= 3; ++step)
        windows.add(step, "a", 10 * step, 100 * step);
    const auto window = windows.window(0);
    ASSERT_TRUE(window);
    EXPECT_TRUE(window->numbers.one == (GetParam() ? 20 : 50));
    EXPECT_TRUE(window->numbers.other == (GetParam() ? 200 : 500));
}

INSTANTIATE_TEST_SUITE_P(OfTotalsAndPeriods, Windows, testing::Bool());

} // namespace
} // namespace dp_counter
