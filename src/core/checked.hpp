// Integer arithmetic that throws instead of wrapping around.
#pragma once

#include "core/error.hpp"

namespace dp_counter {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

[[noreturn]] inline void throw_overflow() {
    throw Error(Fault::overflow, "running count is out of range",
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

template <class Int>
[[nodiscard]] inline Int checked_mul(Int a, Int b) {
    Int product;
    if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
        throw_overflow();
    return product;
}

} // namespace dp_counter
