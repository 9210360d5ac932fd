// The errors of numbers that are each released once, with box noise.
#pragma once

#include <cstdint>

#include "core/accuracy/release_error.hpp"
#include "core/noise/box_law.hpp"

namespace dp_counter {

/// What SQL calls this noise; its k is the size of a block, its sensitivity the most blocks that a
/// unit changes.
inline constexpr const char* kBoxName = "box";

/// The sum of the releases after `since` up to t; blocks begin at step 1. As StreamError it throws
/// Error (parameter) for other steps; the last one is kMaxHorizon.
class BoxError {
public:
    /// Throws Error (parameter) for a scale that is out of range.
    explicit BoxError(const BoxLaw& law);

    [[nodiscard]] double variance_at(std::int64_t t, std::int64_t since = 0) const;

    /// As NoiseDistribution::half_width. Where the noise is wide, from a standard deviation of some
    /// tens on, it is that of box noise with this deviation, scaled, which is off by less. Takes up
    /// to 30 milliseconds.
    [[nodiscard]] std::int64_t half_width(std::int64_t t, double confidence,
                                          std::int64_t since = 0) const;

    [[nodiscard]] NoiseClass noise_class(std::int64_t t, std::int64_t since = 0) const;

private:
    BoxLaw law_;
};

} // namespace dp_counter
