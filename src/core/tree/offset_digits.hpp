// The number systems of the paper: plain k-ary digits and offset ("negative") digits.
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "core/base/limits.hpp"

namespace dp_counter {

/// Digits of a time step t >= 0 in radix k, each in [lowest, highest], highest - lowest = k - 1.
///   plain:  0 .. k-1                                      (paper, Algorithm 1)
///   offset: -(k-1)/2 .. (k-1)/2 for odd k, -k/2+1 .. k/2 for even k   (paper, Algorithm 2)
/// sum(abs(digit)) is the number of tree nodes whose noise is in the release at t.
class DigitSystem {
public:
    static DigitSystem plain(std::int32_t radix) { return {radix, 0}; }
    static DigitSystem offset(std::int32_t radix) { return {radix, -((radix - 1) / 2)}; }

    [[nodiscard]] std::int32_t radix() const noexcept { return radix_; }
    [[nodiscard]] std::int32_t lowest() const noexcept { return lowest_; }
    [[nodiscard]] std::int32_t highest() const noexcept { return lowest_ + radix_ - 1; }

    /// The greatest t that `height` digits can write, highest * (k^height - 1) / (k - 1); values
    /// above kMaxHorizon come back as kMaxHorizon.
    [[nodiscard]] std::int64_t capacity(int height) const noexcept;

    /// The least height (at least 1) whose capacity reaches the horizon; at most kMaxHeight.
    [[nodiscard]] int height(std::int64_t horizon) const noexcept;

    /// The lowest digit of t; t becomes the number that the other digits write.
    [[nodiscard]] std::int32_t split(std::int64_t& t) const noexcept {
        auto digit = static_cast<std::int32_t>(t % radix_);
        if (digit > highest())
            digit -= radix_;
        t = (t - digit) / radix_;
        return digit;
    }

private:
    DigitSystem(std::int32_t radix, std::int32_t lowest) : radix_(radix), lowest_(lowest) {}

    std::int32_t radix_;
    std::int32_t lowest_;
};

} // namespace dp_counter
