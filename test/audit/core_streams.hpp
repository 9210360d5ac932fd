// Releases straight from the core, as fast as it goes.
#pragma once

#include <cstddef>
#include <vector>

#include "audit/releases.hpp"
#include "core/count/prepared_mechanism.hpp"
#include "core/noise/random_source.hpp"

namespace dp_counter::test {

/// A mechanism ready to run: the plan of a request, or of the first epochs of an unbounded one, as
/// far as `steps`. With `noise` below 1 its noise is smaller than the request asks for, by that
/// factor.
class Mechanics {
public:
    Mechanics(const Request& request, std::int64_t steps, double noise = 1);

    /// Of the request, or of the first epoch.
    [[nodiscard]] const MechanismSpec& spec() const { return epochs_.front().spec(); }
    [[nodiscard]] std::int64_t steps() const { return steps_; }

    /// Releases `bits` (one a step) `runs` times, each time as a new stream, and keeps what comes
    /// at the steps `watched`.
    [[nodiscard]] Releases release(const std::vector<bool>& bits,
                                   const std::vector<std::int64_t>& watched, std::size_t runs,
                                   RandomSource& random) const;

private:
    std::vector<PreparedMechanism> epochs_;
    std::int64_t steps_;
};

} // namespace dp_counter::test
