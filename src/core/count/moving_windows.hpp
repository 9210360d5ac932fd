// What each group counted in the last `lag` steps, from published releases in the order of steps.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/checked.hpp"

namespace dp_counter {

/// Of running totals a window is the difference of two releases, of single periods their sum.
/// Public values alone. Memory holds the releases of `lag` steps, or of those that begin windows
/// up to `last` if they are fewer.
class MovingWindows {
public:
    /// Of an average the two numbers that are released, else `other` is 0.
    struct Numbers {
        int128 one;
        int128 other;
    };
    struct Window {
        Numbers numbers;
        std::int64_t since; ///< its noise came after this step: 0 where its group began with it
    };

    MovingWindows(std::int64_t lag, bool is_cumulative, std::int64_t last)
        : lag_(lag), is_cumulative_(is_cumulative), last_(last) {}

    /// Takes a release. Those of a step come together, and steps rise.
    void add(std::int64_t step, std::string_view name, std::int64_t one, std::int64_t other);

    /// Groups are numbered 0, 1, ... as they came.
    [[nodiscard]] std::int32_t groups() const { return static_cast<std::int32_t>(groups_.size()); }
    [[nodiscard]] const std::string& name(std::int32_t group) const { return at(group).name; }

    /// A group's window that ends with the step of the last releases, unless a release in it has
    /// not been taken, or the one before it where the group did not begin with the window. Ask
    /// after all releases of the step.
    [[nodiscard]] std::optional<Window> window(std::int32_t number) const;

private:
    struct Group {
        std::string name;
        std::int64_t first;     ///< its first step
        std::int64_t last;      ///< its last one
        Numbers numbers;        ///< of totals the last release, of single periods the window's sum
        std::int64_t periods;   ///< in that sum
        std::int64_t base_step; ///< of totals, the last release before the window
        Numbers base;
    };
    struct Past {
        std::int64_t step;
        std::int32_t group;
        std::int64_t one, other;
    };

    [[nodiscard]] const Group& at(std::int32_t group) const {
        return groups_[static_cast<std::size_t>(group)];
    }
    void begin_step(std::int64_t step);

    std::int64_t lag_;
    bool is_cumulative_;
    std::int64_t last_;
    std::int64_t step_ = 0;
    std::deque<Group> groups_; ///< names stay where they are
    std::unordered_map<std::string_view, std::int32_t> numbers_;
    std::deque<Past> past_; ///< the releases that have not left the window
};

} // namespace dp_counter
