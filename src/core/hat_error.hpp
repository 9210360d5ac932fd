// How much noise a bridge or hat mechanism adds: public values alone, for choosing and reporting.
// The variance at step t is the sum over the levels of (node variance) * (energy of the level), the
// energy being the squared norm of that level's part of the row of L.
#pragma once

#include <cstdint>
#include <span>

#include "core/hat_plan.hpp"

namespace dp_counter {

/// One number per level, the steps first.
struct HatEnergy {
    double level[HatSpec::kMaxHeight];

    /// The variance that these energies make, with the exact variances of the discrete noise.
    [[nodiscard]] double variance(const HatSpec& spec, Epsilon epsilon) const noexcept;

    /// The same with the variances of the levels' nodes (hat_node_variance).
    [[nodiscard]] double variance(std::span<const double> nodes) const noexcept;
};

/// The energies at step t, from the weights that the code uses, in O(height).
[[nodiscard]] HatEnergy hat_energy_at(const HatPlan& plan, std::int64_t t);

/// Their means over t = 1 .. horizon. Sums over the tree's periods, exact up to rounding (relative
/// 1e-6) for radices up to 64; above, the places within a cell are sampled (relative 1e-3).
[[nodiscard]] HatEnergy hat_mean_energy(const HatPlan& plan);

/// The same for a bridge, from its closed form, without a plan.
[[nodiscard]] HatEnergy bridge_mean_energy(const HatSpec& spec);

[[nodiscard]] double hat_variance_at(const HatPlan& plan, Epsilon epsilon, std::int64_t t);

/// The mean over t of the variance of a release.
[[nodiscard]] double hat_mse(const HatPlan& plan, Epsilon epsilon);

/// The greatest variance over t = 1 .. horizon: exact up to 4096 steps; above it is the variance at
/// a step found level by level, which lies at most 0.1 % below the greatest.
[[nodiscard]] double hat_max_variance(const HatPlan& plan, Epsilon epsilon);

} // namespace dp_counter
