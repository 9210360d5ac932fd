// The error bar of a live counter's release.
#pragma once

#include <cstdint>

#include "core/accuracy/stream_error.hpp"
#include "core/count/counter_state.hpp"

namespace dp_counter {

/// Bounds between which the true count lies with 95 % probability.
struct ReleaseInterval {
    std::int64_t low;  ///< at least 0: a count is not negative
    std::int64_t high; ///< at least 0
};

/// The width of the bounds, from the distribution of the release's noise (StreamError::half_width),
/// the same for any count. A counter whose mechanism was chosen by another version of dp_counter
/// gets the normal approximation of its own standard deviation, rounded outwards. Throws as
/// StreamError does.
[[nodiscard]] std::int64_t release_width(StreamError& errors, const CounterRelease& release);

/// release - width .. release + width, both ends at least 0.
[[nodiscard]] ReleaseInterval clamped_interval(std::int64_t release, std::int64_t width) noexcept;

} // namespace dp_counter
