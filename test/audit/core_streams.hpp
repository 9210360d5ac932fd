// Releases straight from the core, as fast as it goes.
#pragma once

#include <cstddef>
#include <vector>

#include "audit/releases.hpp"
#include "core/prepared_plan.hpp"
#include "core/random_source.hpp"

namespace dp_counter::test {

/// The plan with its samplers, whatever its epsilon: a plan may carry another epsilon than the one that
/// it was chosen for.
[[nodiscard]] PreparedPlan prepare(const Plan& plan);

/// A plan that adds half the noise: what an audit has to be able to tell from the right one.
[[nodiscard]] Plan with_half_the_noise(const Plan& plan);

/// Releases `bits` (one a step, at most the horizon) `runs` times, each time as a new stream, and
/// keeps what comes at `steps`.
[[nodiscard]] Releases release_streams(const PreparedPlan& prepared, const std::vector<bool>& bits,
                                       const std::vector<std::int64_t>& steps, std::size_t runs,
                                       RandomSource& random);

} // namespace dp_counter::test
