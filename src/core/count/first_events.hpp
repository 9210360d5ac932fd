// The bound on what one person adds to a counter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dp_counter {

/// An event of a person: where it counts, and how much. The order is that in which events count:
/// it is total, and events that are equal in it are interchangeable, so that nothing but the events
/// themselves decides which of them are within the bound.
struct Event {
    std::int64_t cell;  ///< (period, group), as one number
    std::int64_t value; ///< clamped

    friend bool operator<(const Event& a, const Event& b) noexcept {
        return a.cell != b.cell ? a.cell < b.cell : a.value < b.value;
    }
};

static_assert(std::is_trivially_copyable_v<Event>);

/// The first events of one person, as many as the bound lets through, out of events that come in
/// any order. They lie in memory of the caller's, which need not hold more than twice the bound.
/// Trivially copyable.
class FirstEvents {
public:
    /// Begins with a person of whom `bound` >= 0 more events count.
    void begin(Event* memory, std::size_t capacity, std::int64_t bound) noexcept {
        events_ = memory;
        capacity_ = capacity;
        size_ = 0;
        bound_ = static_cast<std::size_t>(bound);
    }

    /// Whether add() may be called. Where it may not, move_to() larger memory.
    [[nodiscard]] bool has_room() noexcept {
        if (size_ == capacity_)
            keep_first();
        return size_ < capacity_ || bound_ == 0;
    }

    /// Larger memory that holds the same events.
    void move_to(Event* memory, std::size_t capacity) noexcept {
        events_ = memory;
        capacity_ = capacity;
    }

    void add(const Event& event) noexcept {
        if (bound_ > 0)
            events_[size_++] = event;
    }

    /// The events that count; the first of size().
    [[nodiscard]] const Event* finish() noexcept {
        keep_first();
        return events_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    void keep_first() noexcept {
        if (size_ <= bound_)
            return;
        std::nth_element(events_, events_ + bound_, events_ + size_);
        size_ = bound_;
    }

    Event* events_;
    std::size_t capacity_;
    std::size_t size_;
    std::size_t bound_;
};

static_assert(std::is_trivially_copyable_v<FirstEvents>);

} // namespace dp_counter
