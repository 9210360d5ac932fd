// Integer arithmetic at the limits of its types.
//
// Code that depends on secret data never throws: sums that contain counts have 128 bits, and only
// releases are saturated to 64. The checked functions are for public parameters, and for sums of
// noise alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/base/error.hpp"

namespace dp_counter {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

/// The nearest number that has 64 bits. For releases only, as post-processing. A running total must
/// never be clamped: at the bound, a later event could make up for a missing one, and neighbors
/// would differ in two steps.
[[nodiscard]] constexpr std::int64_t saturated(int128 release) noexcept {
    using Limits = std::numeric_limits<std::int64_t>;
    return static_cast<std::int64_t>(std::clamp<int128>(release, Limits::min(), Limits::max()));
}

[[noreturn]] inline void throw_overflow() {
    throw Error(Fault::overflow, "noise is out of range",
                "Choose a larger epsilon or a smaller horizon.");
}

template <class Int>
[[nodiscard]] inline Int checked_add(Int a, Int b) {
    Int sum;
    if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
        throw_overflow();
    return sum;
}

template <class Int>
[[nodiscard]] inline Int checked_sub(Int a, Int b) {
    Int difference;
    if (__builtin_sub_overflow(a, b, &difference)) [[unlikely]]
        throw_overflow();
    return difference;
}

} // namespace dp_counter
