// How wrong the releases of a plan are: public values alone, so reporting them costs no privacy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/hat_plan.hpp"
#include "core/noise_sum.hpp"
#include "core/plan.hpp"

namespace dp_counter {

/// Names a distribution: releases with equal classes have equally distributed noise, whatever their
/// horizons and steps.
struct NoiseClass {
    double epsilon;
    std::uint64_t family; ///< sums of nodes with weight 1: 0; others: a hash of the levels
    std::uint64_t height;
    std::uint64_t index; ///< the number of nodes; others: the step

    friend bool operator==(const NoiseClass&, const NoiseClass&) = default;
};

/// The errors of one plan's releases. Steps run from 1 to the horizon; at step 0 nothing has been
/// counted and the release is exact. Other steps throw Error (parameter).
///
/// Bridge and hat round a fraction to an integer. That is counted as 1/12 in every variance, which
/// is right wherever the noise is spread over several integers; it is less where epsilon is so
/// large that most releases have no noise at all.
class ReleaseError {
public:
    /// For bridge and hat it computes the tables of weights: some microseconds to milliseconds.
    explicit ReleaseError(const Plan& plan);

    [[nodiscard]] const Plan& plan() const noexcept { return plan_; }

    /// Variance of the release at step t. Takes 0.1 microseconds for trees, up to 1 for bridge
    /// and hat.
    [[nodiscard]] double variance_at(std::int64_t t) const;

    /// The same before the noise is rounded.
    [[nodiscard]] double exact_variance_at(std::int64_t t) const;

    /// Mean and greatest variance over steps 1 .. horizon: exact for trees and, for the others, as
    /// good as hat_error.hpp says.
    [[nodiscard]] double mse() const;
    [[nodiscard]] double max_variance() const;

    /// What the noise at step t consists of.
    [[nodiscard]] NoiseSum noise_at(std::int64_t t) const;
    [[nodiscard]] NoiseClass noise_class(std::int64_t t) const;

    /// Trees: k for every digit. Bridge and hat: the distance of the nodes of each level above the
    /// steps, counted in nodes of the level below, steps first.
    [[nodiscard]] std::vector<std::int32_t> radices() const;

    /// Bytes of a stream's state (NoiseStream).
    [[nodiscard]] std::size_t state_bytes() const;

private:
    void check(std::int64_t t) const;
    [[nodiscard]] double rounding() const noexcept;

    Plan plan_;
    std::optional<HatPlanBlock> hats_;   ///< of bridge and hat with more than one level
    std::vector<double> node_variances_; ///< theirs, by level
    std::uint64_t family_ = 0;
};

} // namespace dp_counter
