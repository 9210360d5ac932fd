// A person's own windows: lengths of `per` days, one after the other, of which the first day is
// the person's phase. They depend on the person and the event's time alone.
#pragma once

#include <cstdint>

namespace dp_counter {

inline constexpr std::int64_t kMicrosecondsPerDay = 86'400'000'000;

/// Rounded down, also below zero; divisor > 0.
[[nodiscard]] constexpr std::int64_t floor_quotient(std::int64_t dividend, std::int64_t divisor) {
    return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

/// The day, counted from 2000-01-01, of a time in microseconds from its midnight.
[[nodiscard]] constexpr std::int64_t day_of(std::int64_t microseconds) {
    return floor_quotient(microseconds, kMicrosecondsPerDay);
}

/// The number that the first 8 bytes of a digest stand for, big-endian.
[[nodiscard]] constexpr std::uint64_t number_of_digest(const unsigned char* digest) {
    std::uint64_t number = 0;
    for (int i = 0; i < 8; ++i)
        number = number << 8 | digest[i];
    return number;
}

/// The phase in [0, per_days) that a digest stands for.
[[nodiscard]] constexpr std::int32_t phase_of(const unsigned char* digest, std::int32_t per_days) {
    return static_cast<std::int32_t>(number_of_digest(digest) %
                                     static_cast<std::uint64_t>(per_days));
}

/// The number of the own window in which a day is, and the window's first day.
[[nodiscard]] constexpr std::int64_t own_window(std::int64_t day, std::int32_t phase,
                                                std::int32_t per_days) {
    return floor_quotient(day - phase, per_days);
}
[[nodiscard]] constexpr std::int64_t first_day(std::int64_t window, std::int32_t phase,
                                               std::int32_t per_days) {
    return window * per_days + phase;
}

} // namespace dp_counter
