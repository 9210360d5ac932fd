// How wrong the releases of a mechanism are: public values alone, so reporting them costs no
// privacy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/accuracy/noise_sum.hpp"
#include "core/count/prepared_mechanism.hpp"

namespace dp_counter {

/// Names a distribution: differences of releases with equal classes have equally distributed noise,
/// whatever their horizons and steps.
struct NoiseClass {
    double epsilon;
    std::int64_t sensitivity;
    std::int64_t family; ///< sums of nodes with weight 1: 0; others: a name of the levels
    std::int64_t height;
    std::int64_t index; ///< the number of nodes; others: the step
    std::int64_t since; ///< 0; others: the earlier step

    friend bool operator==(const NoiseClass&, const NoiseClass&) = default;
};

/// The errors of one mechanism's releases and of their differences, release(t) - release(since), 0
/// <= since <= t <= horizon; at step 0 nothing has been counted and the release is exact. Other
/// steps throw Error (parameter).
///
/// Hats round a fraction to an integer. That is counted as 1/12 in every variance, which
/// is right wherever the noise is spread over several integers; it is less where epsilon is so
/// large that most releases have no noise at all.
class ReleaseError {
public:
    explicit ReleaseError(std::shared_ptr<const PreparedMechanism> prepared)
        : prepared_(std::move(prepared)) {}

    /// For hats it computes the tables of weights: some microseconds to milliseconds.
    explicit ReleaseError(const MechanismSpec& spec)
        : prepared_(std::make_shared<const PreparedMechanism>(spec)) {}

    [[nodiscard]] const MechanismSpec& spec() const noexcept { return prepared_->spec(); }

    /// Variance of the release at step t, rounding included.
    [[nodiscard]] double variance_at(std::int64_t t) const;

    /// PreparedMechanism::exact_variance_at, checked.
    [[nodiscard]] double exact_variance_at(std::int64_t t, std::int64_t since = 0) const;

    /// Mean and greatest variance over steps 1 .. horizon: exact for trees and, for the others, as
    /// good as hat_variance.hpp says.
    [[nodiscard]] double mse() const { return spec().mse(); }
    [[nodiscard]] double max_variance() const;

    /// What the noise at step t less that at `since` consists of, before either is rounded.
    [[nodiscard]] NoiseSum noise_at(std::int64_t t, std::int64_t since = 0) const;
    /// Of hats, with factors of at most 1000: `by` times the one less `times` the other.
    [[nodiscard]] NoiseSum noise_at(std::int64_t t, std::int64_t since, std::int32_t times,
                                    std::int32_t by) const;
    [[nodiscard]] NoiseClass noise_class(std::int64_t t, std::int64_t since = 0) const;

    /// Trees: k for every digit. Hats: the distance of the nodes of each level above the
    /// steps, counted in nodes of the level below, steps first.
    [[nodiscard]] std::vector<std::int32_t> radices() const;

    /// Bytes of a stream's state (NoiseStream).
    [[nodiscard]] std::size_t state_bytes() const;

private:
    [[nodiscard]] std::int64_t nodes(std::int64_t t, std::int64_t since) const;
    [[nodiscard]] double rounding() const noexcept;

    std::shared_ptr<const PreparedMechanism> prepared_;
};

/// Throws Error (parameter) unless 0 <= since <= t <= last.
void check_steps(std::int64_t t, std::int64_t since, std::int64_t last);

} // namespace dp_counter
