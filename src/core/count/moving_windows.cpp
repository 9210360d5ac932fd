#include "core/count/moving_windows.hpp"

#include <limits>

namespace dp_counter {

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min(); ///< no step

} // namespace

/// Releases leave the windows that end with the new step.
void MovingWindows::begin_step(std::int64_t step) {
    step_ = step;
    for (; !past_.empty() && past_.front().step <= step - lag_; past_.pop_front()) {
        const Past& past = past_.front();
        Group& group = groups_[static_cast<std::size_t>(past.group)];
        if (is_cumulative_) {
            group.base_step = past.step;
            group.base = {past.one, past.other};
        } else {
            group.numbers.one -= past.one;
            group.numbers.other -= past.other;
            --group.periods;
        }
    }
}

void MovingWindows::add(std::int64_t step, std::string_view name, std::int64_t one,
                        std::int64_t other) {
    if (step != step_)
        begin_step(step);
    const auto known = numbers_.find(name);
    const std::int32_t number = known != numbers_.end() ? known->second : groups();
    if (known == numbers_.end()) {
        groups_.push_back({std::string(name), step, step, {0, 0}, 0, kNone, {0, 0}});
        numbers_.emplace(groups_.back().name, number);
    }
    Group& group = groups_[static_cast<std::size_t>(number)];
    group.last = step;
    if (is_cumulative_) {
        group.numbers = {one, other};
    } else {
        group.numbers.one += one;
        group.numbers.other += other;
        ++group.periods;
    }
    if (step + lag_ <= last_)
        past_.push_back({step, number, one, other});
}

std::optional<MovingWindows::Window> MovingWindows::window(std::int32_t number) const {
    const Group& group = at(number);
    const std::int64_t since = step_ - lag_;
    if (group.last != step_)
        return {};
    if (!is_cumulative_)
        return group.periods == lag_ ? std::optional(Window{group.numbers, since}) : std::nullopt;
    if (group.base_step == since)
        return Window{{group.numbers.one - group.base.one, group.numbers.other - group.base.other},
                      since};
    return group.first == since + 1 ? std::optional(Window{group.numbers, 0}) : std::nullopt;
}

} // namespace dp_counter
