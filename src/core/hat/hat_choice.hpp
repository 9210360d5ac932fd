// Which bridge or hat mechanism to take: the one with the least mean variance for a horizon and an
// epsilon. The choice is a function of public values, the same on every machine.
#pragma once

#include <cstdint>

#include "core/base/fixed_point.hpp"
#include "core/hat/hat_levels.hpp"
#include "core/hat/hat_variance.hpp"

namespace dp_counter {

/// The best of hats (hat_table.inc), bridges and noise per step. Takes below 1 microsecond for
/// horizons above 64 and epsilon at most 2; otherwise a few sets of weights are made and compared
/// by their exact errors: some 10 microseconds for small horizons, milliseconds at 1e9. Throws
/// Error (parameter) if the horizon is out of range or epsilon is too small for it.
[[nodiscard]] HatLevels choose_hat(std::int64_t horizon, PrivacyUnit unit);

/// The best bridge by the exact error: among uniform radices of every height, with one more on top
/// or one less at the bottom, and then among all mixtures of two radices next to each other around
/// the best of them, the greater ones on top. Takes some milliseconds at most.
[[nodiscard]] HatLevels choose_bridge(std::int64_t horizon, PrivacyUnit unit);

/// Radix k on every level, with the height (and thus the number of top nodes) that is best for it;
/// hats sit at 0.7 k. Throws Error (parameter) where bridge_levels or hat_levels does, and if
/// epsilon is too small.
[[nodiscard]] HatLevels uniform_hat(HatLevels::Rule rule, std::int64_t horizon, std::int32_t k,
                                    PrivacyUnit unit);

/// The mean variance of a spec, by way of a temporary plan.
[[nodiscard]] double hat_levels_mse(const HatLevels& spec, PrivacyUnit unit);

} // namespace dp_counter
