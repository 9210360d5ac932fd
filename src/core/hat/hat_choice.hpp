// Which hat mechanism to take: the one with the least mean variance for a horizon and an
// epsilon. The choice is a function of public values, the same on every machine.
#pragma once

#include <cstdint>

#include "core/base/fixed_point.hpp"
#include "core/hat/hat_levels.hpp"
#include "core/hat/hat_variance.hpp"

namespace dp_counter {

/// The better of the table's hats (hat_table.inc) and noise per step. Takes below 1 microsecond for
/// horizons above 64 and epsilon at most 2; otherwise a set of weights is made to compare their
/// exact errors: some 10 microseconds for small horizons, milliseconds at 1e9. Throws Error
/// (parameter) if the horizon is out of range or epsilon is too small for it.
[[nodiscard]] HatLevels choose_hat(std::int64_t horizon, PrivacyUnit unit);

/// Radix k on every level, with the height (and thus the number of top nodes) that is best for it;
/// hats sit at 0.7 k. Throws Error (parameter) where hat_levels does, and if epsilon is too small.
[[nodiscard]] HatLevels uniform_hat(std::int64_t horizon, std::int32_t k, PrivacyUnit unit);

/// The mean variance of a spec, by way of a temporary plan.
[[nodiscard]] double hat_levels_mse(const HatLevels& spec, PrivacyUnit unit);

} // namespace dp_counter
