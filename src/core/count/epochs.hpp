// A stream without a horizon: epochs of growing length, each a hat mechanism of its own with the
// whole epsilon. A step lies in one epoch, so all releases together are epsilon-private (parallel
// composition). When an epoch ends, its total is carried on with the noise of its last step:
//     release at t = count at t + noise of the closed epochs' last steps + noise of the current one
// The sum of the noise is rounded once.
#pragma once

#include <cstdint>

#include "core/hat/hat_levels.hpp"

namespace dp_counter {

/// The epochs end after 14, 100, 1000, 10^4, ..., 10^18 and kMaxHorizon steps. Factor 10 keeps the
/// number of carried totals small (each costs about 2 h^2 top nodes' noise); fewer and longer
/// epochs would make streams that end early within one pay for the height of a longer one.
inline constexpr int kEpochs = 19;

/// The steps before epoch number 0 .. kEpochs - 1, and its length.
[[nodiscard]] std::int64_t epoch_begin(int epoch) noexcept;
[[nodiscard]] std::int64_t epoch_length(int epoch) noexcept;

/// The epoch in which step t lies, 1 <= t <= kMaxHorizon.
[[nodiscard]] int epoch_of(std::int64_t t) noexcept;

/// The epochs that have begun by step t of a stream with this horizon (kUnbounded or not): 0 at
/// step 0. Only one without a horizon has more than epoch 0.
[[nodiscard]] int epochs_begun(std::int64_t horizon, std::int64_t t) noexcept;

/// How many steps of an epoch have been taken at step t: all of a closed one's, from whose last
/// step its noise is carried on, and none before it begins.
[[nodiscard]] std::int64_t steps_of_epoch(std::int64_t horizon, int epoch, std::int64_t t) noexcept;

/// The mechanism of an epoch, with fewer top nodes than for a stream that ends with it, since the
/// noise of its total stays. Where one has fractions, so have all that follow: longer epochs want
/// more levels. They may not fit (hat_fits).
[[nodiscard]] HatLevels epoch_levels(int epoch, PrivacyUnit unit);

} // namespace dp_counter
