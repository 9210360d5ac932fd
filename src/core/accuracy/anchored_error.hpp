// The errors of stocks with anchored noise, and of their differences.
#pragma once

#include <cstdint>

#include "core/accuracy/stream_error.hpp"
#include "core/count/anchored_law.hpp"

namespace dp_counter {

/// What SQL calls this noise; its k is the size of a block, its sensitivity the most that a unit
/// changes the stocks of one step, in l1.
inline constexpr const char* kAnchoredName = "anchored";

/// release(t) - release(since), as StreamError has it: 0 <= since <= t, the last one is
/// kMaxHorizon, and of since = 0, before the first period, the release is exact. Within a block the
/// anchor cancels; the noises of two blocks are independent.
class AnchoredError {
public:
    /// `increments` has the errors of law.increments(), and must live as long.
    AnchoredError(const AnchoredLaw& law, StreamError& increments)
        : law_(law), increments_(increments) {}

    [[nodiscard]] double variance_at(std::int64_t t, std::int64_t since = 0) const;
    [[nodiscard]] NoiseSum noise_at(std::int64_t t, std::int64_t since = 0) const;
    [[nodiscard]] NoiseClass noise_class(std::int64_t t, std::int64_t since = 0) const;

private:
    [[nodiscard]] bool is_one_block(std::int64_t t, std::int64_t since) const;

    AnchoredLaw law_;
    StreamError& increments_;
};

} // namespace dp_counter
