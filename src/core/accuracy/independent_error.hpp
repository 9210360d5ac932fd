// The errors of numbers that are each released once, with discrete Laplace noise of their own.
#pragma once

#include <cstdint>

#include "core/accuracy/noise_sum.hpp"
#include "core/accuracy/release_error.hpp"
#include "core/noise/privacy_unit.hpp"

namespace dp_counter {

/// What SQL calls this noise, which has no further parameters.
inline constexpr const char* kIndependentName = "laplace";

/// The sum of the releases after `since` up to t has t - since noises of scale sensitivity /
/// epsilon. StreamError answers the same questions about running counts, and throws Error
/// (parameter) for the same reasons; the last step is kMaxHorizon.
class IndependentError {
public:
    /// Throws Error (parameter) for a scale that is out of range.
    explicit IndependentError(const PrivacyUnit& unit);

    [[nodiscard]] double variance_at(std::int64_t t, std::int64_t since = 0) const;

    [[nodiscard]] NoiseSum noise_at(std::int64_t t, std::int64_t since = 0) const;
    [[nodiscard]] NoiseClass noise_class(std::int64_t t, std::int64_t since = 0) const;

private:
    PrivacyUnit unit_;
};

} // namespace dp_counter
