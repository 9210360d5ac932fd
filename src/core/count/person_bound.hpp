// The bound on what a person adds to a counter in each of that person's own windows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/count/first_events.hpp"

namespace dp_counter {

/// How much of the bound a person has used up in the last own window in which there were events.
struct Tally {
    std::int64_t window;
    std::int64_t used;
    std::int32_t group = 0; ///< of an active person; then `used` is the time of the last event
};

/// What is used up of a bound `to`, where so much of a bound `from` is: at least the same share, so
/// that what both let count costs no more than all of one of them.
[[nodiscard]] constexpr std::int64_t converted(std::int64_t used, std::int64_t from,
                                               std::int64_t to) noexcept {
    return std::min((used * to + from - 1) / from, to);
}

/// What limits a person. A counter of persons without a bound has {0, true}.
struct BoundRule {
    std::int64_t per_person; ///< events that count in each own window; 0: no bound
    bool once;               ///< at most one event of an own window counts in a period
};

/// A person's event. The window and the step follow from the time.
struct TimedEvent {
    std::int64_t time;
    std::int64_t window;
    std::int64_t step; ///< the number of the period, below 0 before the counter's first one
    std::int64_t group;
    std::int64_t value;
};

/// Counts the events of one person after the other. The events of a person come in the order of
/// their times; equal ones of one time (group and value) come one after the other. Events of one
/// time count in the order of their ranks. So the events of a window that count, and the tally
/// after them, follow from the person's events in that window alone, however ticks divide them: an
/// own window with all its events more or less changes at most per_person counted events, and no
/// other window's.
///
/// `Tick` has count(step, group, value) for the events that count, rank(time, event) for the keyed
/// digest and allocate(n) as FirstEvents says. Trivially copyable.
class PersonBound {
public:
    explicit PersonBound(const BoundRule& rule) noexcept : rule_(rule) {}

    void begin(const Tally& tally) noexcept {
        tally_ = tally;
        has_time_ = false;
        has_counted_ = false;
    }

    template <class Tick>
    void add(const TimedEvent& event, Tick& tick) {
        if (!has_time_ || event.time != last_.time) {
            count_events(tick);
            begin_time(event);
        } else if (event.group == last_.group && event.value == last_.value) {
            ++copy_;
        } else {
            copy_ = 0;
        }
        last_ = event;
        first_.add(
            {0, event.group, event.value, copy_},
            [&](const Event& other) { return tick.rank(event.time, other); },
            [&](std::size_t n) { return tick.allocate(n); });
    }

    template <class Tick>
    Tally end(Tick& tick) {
        count_events(tick);
        return tally_;
    }

private:
    void begin_time(const TimedEvent& event) noexcept {
        if (event.window > tally_.window)
            tally_ = {event.window, 0};
        std::int64_t left = 1;
        if (rule_.per_person != 0) // an earlier window is used up
            left = event.window < tally_.window ? 0 : rule_.per_person - tally_.used;
        if (rule_.once)
            left = is_counted(event) ? 0 : std::min<std::int64_t>(left, 1);
        first_.begin(left);
        has_time_ = true;
        copy_ = 0;
    }

    /// Whether an event of this period, and with a bound of this window, has counted.
    [[nodiscard]] bool is_counted(const TimedEvent& event) const noexcept {
        return has_counted_ && counted_step_ == event.step &&
               (rule_.per_person == 0 || counted_window_ == event.window);
    }

    template <class Tick>
    void count_events(Tick& tick) {
        if (!has_time_)
            return;
        for (const Event& event : first_.events()) {
            ++tally_.used;
            counted_step_ = last_.step;
            counted_window_ = last_.window;
            has_counted_ = true;
            if (last_.step >= 0)
                tick.count(last_.step, event.group, event.value);
        }
        has_time_ = false;
    }

    BoundRule rule_;
    Tally tally_{};
    TimedEvent last_{}; ///< whose time's events are in first_, if has_time_
    std::int64_t copy_ = 0;
    std::int64_t counted_step_ = 0;
    std::int64_t counted_window_ = 0;
    bool has_time_ = false;
    bool has_counted_ = false;
    FirstEvents<> first_;
};

static_assert(std::is_trivially_copyable_v<PersonBound>);

} // namespace dp_counter
