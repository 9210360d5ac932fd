// The error bar of a live counter's release.
#pragma once

#include <cstdint>

#include "core/accuracy/average_interval.hpp"
#include "core/accuracy/stream_error.hpp"
#include "core/count/counter_state.hpp"

namespace dp_counter {

/// Bounds between which the true count lies with 95 % probability.
struct ReleaseInterval {
    std::int64_t low;
    std::int64_t high;
};

inline constexpr double kReleaseConfidence = 0.95;

/// Whether the release has the error that this version plans; else its counter's mechanism was
/// chosen by another version. Throws as StreamError does.
[[nodiscard]] bool is_planned(StreamError& errors, const CounterRelease& release);

/// The interval of the share above / (above + below), by the normal approximation of the releases'
/// own standard deviation: where they are not planned.
[[nodiscard]] ShareInterval normal_share(const CounterRelease& above, const CounterRelease& below);

/// The width of the bounds, from the distribution of the release's noise (StreamError::noise_at),
/// the same for any count. A counter whose mechanism was chosen by another version of dp_counter
/// gets the normal approximation of its own standard deviation, rounded outwards. Throws as
/// StreamError does.
[[nodiscard]] std::int64_t release_width(StreamError& errors, const CounterRelease& release);

/// release - width .. release + width, both ends at least `least`: a count is not negative.
[[nodiscard]] ReleaseInterval clamped_interval(std::int64_t release, std::int64_t width,
                                               std::int64_t least = 0) noexcept;

} // namespace dp_counter
