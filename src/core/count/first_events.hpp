// The first of a person's events that happened at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

namespace dp_counter {

/// One of several events of a person at one time.
struct Event {
    std::uint64_t rank; ///< a keyed digest of all that is below, of the time and of the person
    std::int64_t group; ///< its number
    std::int64_t value; ///< clamped; of a histogram the bin
    std::int64_t copy;  ///< 0, 1, ... of equal events

    /// Nothing but the events themselves decides which come first, and not by what they are worth:
    /// of equal times each event is as likely to come first as another.
    auto operator<=>(const Event&) const = default; // NOLINT: clang-tidy 14 sees a 0 in it
};

static_assert(std::is_trivially_copyable_v<Event>);

/// The first events, as many as the bound lets through, out of events that come in any order: a
/// heap with the last of them on top. An event costs O(log bound) comparisons. Ranks are computed
/// where there are more events than that, and only there. Trivially copyable; the caller frees the
/// memory, which the next events use again.
template <class Order = std::less<>>
class FirstEvents {
public:
    /// Begins with events of which `bound` count; none if it is negative.
    void begin(std::int64_t bound) noexcept {
        size_ = 0;
        is_ranked_ = false;
        bound_ = static_cast<std::size_t>(std::max<std::int64_t>(bound, 0));
    }

    /// Takes in an event, whose rank is rank(event). allocate(n) returns memory for n events, which
    /// replaces that in use; it is asked for less than twice the bound (or for 64), and for none
    /// where no event counts. Nothing has changed where it leaves by an exception or a longjmp.
    template <class Rank, class Allocate>
    void add(Event event, Rank&& rank, Allocate&& allocate) {
        if (size_ < bound_) {
            if (size_ == capacity_)
                grow(allocate);
            events_[size_++] = event;
            return;
        }
        if (bound_ == 0)
            return;
        if (!is_ranked_) {
            for (Event& held : std::span(events_, size_))
                held.rank = rank(held);
            std::make_heap(events_, events_ + size_, Order());
            is_ranked_ = true;
        }
        event.rank = rank(event);
        if (!Order()(event, events_[0]))
            return;
        std::pop_heap(events_, events_ + size_, Order());
        events_[size_ - 1] = event;
        std::push_heap(events_, events_ + size_, Order());
    }

    /// The events that count, in any order.
    [[nodiscard]] std::span<const Event> events() const noexcept { return {events_, size_}; }

private:
    static constexpr std::size_t kFirstCapacity = 64;

    template <class Allocate>
    void grow(Allocate&& allocate) {
        const std::size_t larger = std::max(2 * capacity_, kFirstCapacity);
        Event* const moved = allocate(larger);
        std::copy_n(events_, size_, moved);
        events_ = moved;
        capacity_ = larger;
    }

    Event* events_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    std::size_t bound_ = 0;
    bool is_ranked_ = false;
};

static_assert(std::is_trivially_copyable_v<FirstEvents<>>);

} // namespace dp_counter
