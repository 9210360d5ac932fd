// A double as its 64 bits and back: std::bit_cast, which GCC 10 does not have.
#pragma once

#include <cstdint>
#include <cstring>

namespace dp_counter {

[[nodiscard]] inline std::uint64_t bit_pattern(double value) noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

[[nodiscard]] inline double from_bit_pattern(std::uint64_t bits) noexcept {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace dp_counter
