// At which ends of periods a person is active: one with an event in the last days before the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace dp_counter {

/// Of one person after the other, over the ends of a tick's periods, which rise. An event covers
/// the ends after it for which it is not before the beginning of their last days. The person's
/// events come in the order of their times, the last one of earlier ticks first, each with the
/// group in which the person is from then on. So a step's stock depends on rows before its end
/// alone, however many steps a tick closes. Trivially copyable.
class ActivePath {
public:
    using Times = std::span<const std::int64_t>;

    /// Ends and beginnings of their last days.
    ActivePath(Times ends, Times begins) noexcept : ends_(ends), begins_(begins) {}

    void begin() noexcept { covered_ = group_ = 0; }

    /// Calls add(group, from, to, n), from < to: n more in each of the tick's steps from .. to - 1,
    /// from 0 on; -1 where the person was counted in another group before.
    template <class Add>
    void cover(std::int64_t time, std::int64_t group, Add&& add) {
        const std::int64_t first = before(ends_, time);
        if (group != group_ && first < covered_) {
            add(group_, first, covered_, -1);
            covered_ = first;
        }
        group_ = group;
        const std::int64_t from = std::max(covered_, first);
        const std::int64_t to = before(begins_, time);
        if (from >= to)
            return;
        add(group, from, to, 1);
        covered_ = to;
    }

private:
    /// How many are at the time or before it.
    [[nodiscard]] static std::int64_t before(Times times, std::int64_t time) noexcept {
        return std::upper_bound(times.begin(), times.end(), time) - times.begin();
    }

    Times ends_;
    Times begins_;
    std::int64_t covered_ = 0; ///< steps up to the last one that an event has covered
    std::int64_t group_ = 0;
};

} // namespace dp_counter
