// Isotonic regression: the non-decreasing path nearest to a sequence of numbers in total squared
// distance (pool adjacent violators). Post-processing of releases: it costs no privacy, and its
// total squared error is never above theirs where the true path does not fall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/checked.hpp"

namespace dp_counter {

/// Adjacent numbers on which the path is constant, at their mean. Trivial, and aligned as its words
/// are: it may lie in memory that is aligned to 8 bytes.
class IsotonicBlock {
public:
    [[nodiscard]] static IsotonicBlock of(std::int64_t number) noexcept { return {number, 1}; }
    [[nodiscard]] std::int64_t count() const noexcept { return count_; }

    /// The path here: the nearest double, as good as; one of the two nearest from 2^53 on.
    [[nodiscard]] double mean() const noexcept {
        // A whole part and a rest below 1: the sum may have more bits than a double.
        const int128 whole = sum() / count_;
        const auto rest = static_cast<std::int64_t>(sum() - whole * count_);
        return static_cast<double>(whole) + static_cast<double>(rest) / static_cast<double>(count_);
    }

    /// Whether the mean is at least that of the next block: then they become one. Exact.
    [[nodiscard]] bool reaches(const IsotonicBlock& next) const noexcept {
        return sum() * next.count_ >= next.sum() * count_;
    }
    [[nodiscard]] IsotonicBlock joined_by(const IsotonicBlock& next) const noexcept {
        return {sum() + next.sum(), count_ + next.count_};
    }

private:
    IsotonicBlock(int128 sum, std::int64_t count) noexcept
        : high_(static_cast<std::int64_t>(sum >> 64)), low_(static_cast<std::uint64_t>(sum)),
          count_(count) {}

    [[nodiscard]] int128 sum() const noexcept { return (static_cast<int128>(high_) << 64) | low_; }

    std::int64_t high_; ///< of the sum
    std::uint64_t low_;
    std::int64_t count_;
};

static_assert(std::is_trivially_copyable_v<IsotonicBlock>);
static_assert(alignof(IsotonicBlock) == 8);

/// Appends a number to a path of `blocks` blocks and returns how many there are then, at least 1
/// and at most blocks + 1: so much room must be at `path`. n numbers one after the other take O(n)
/// together; n may be up to 2^32. At any time the blocks are the path of the numbers so far.
[[nodiscard]] inline std::size_t extend_isotonic_path(IsotonicBlock* path, std::size_t blocks,
                                                      std::int64_t number) noexcept {
    IsotonicBlock last = IsotonicBlock::of(number);
    for (; blocks > 0 && path[blocks - 1].reaches(last); --blocks)
        last = path[blocks - 1].joined_by(last);
    path[blocks] = last;
    return blocks + 1;
}

} // namespace dp_counter
