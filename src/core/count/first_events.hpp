// The bound on what one person adds to a counter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace dp_counter {

/// An event of a person: where it counts, and how much.
struct Event {
    std::int64_t cell;  ///< (period, group), as one number
    std::int64_t value; ///< clamped
};

static_assert(std::is_trivially_copyable_v<Event>);

/// The order in which events count. It is total, and events that are equal in it are
/// interchangeable, so that nothing but the events themselves decides which are within the bound.
struct EventOrder {
    bool operator()(const Event& a, const Event& b) const noexcept {
        return a.cell != b.cell ? a.cell < b.cell : a.value < b.value;
    }
};

/// The first events of one person, as many as the bound lets through, out of events that come in
/// any order: a heap with the last of them on top. An event costs O(log bound) comparisons.
/// Trivially copyable; the caller frees the memory, which the next person's events use again.
template <class Order = EventOrder>
class FirstEvents {
public:
    /// Begins with a person of whom `bound` more events count; none if it is negative.
    void begin(std::int64_t bound) noexcept {
        size_ = 0;
        bound_ = static_cast<std::size_t>(std::max<std::int64_t>(bound, 0));
    }

    /// Takes in an event. allocate(n) returns memory for n events, which replaces that in use; it
    /// is asked for less than twice the bound (or for 64), and for none where no event counts.
    /// Nothing has changed where it leaves by an exception or a longjmp.
    template <class Allocate>
    void add(const Event& event, Allocate&& allocate) {
        if (size_ == bound_) {
            if (bound_ == 0 || !Order()(event, events_[0]))
                return;
            std::pop_heap(events_, events_ + size_, Order());
            --size_;
        } else if (size_ == capacity_) {
            const std::size_t larger = std::max(2 * capacity_, kFirstCapacity);
            Event* const moved = allocate(larger);
            std::copy_n(events_, size_, moved);
            events_ = moved;
            capacity_ = larger;
        }
        events_[size_++] = event;
        std::push_heap(events_, events_ + size_, Order());
    }

    /// The events that count, in any order.
    [[nodiscard]] std::span<const Event> events() const noexcept { return {events_, size_}; }

private:
    static constexpr std::size_t kFirstCapacity = 64;

    Event* events_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    std::size_t bound_ = 0;
};

static_assert(std::is_trivially_copyable_v<FirstEvents<>>);

} // namespace dp_counter
