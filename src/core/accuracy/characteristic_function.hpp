// The characteristic function of a weighted sum of discrete Laplace variables.
#pragma once

#include <optional>
#include <vector>

#include "core/accuracy/noise_sum.hpp"

namespace dp_counter {

/// phi(theta) = E exp(i theta S), S = sum_i c_i Z_i. It is real and positive:
///
///     phi(theta) = product over i of 1 / (1 + sin^2(c_i theta / 2) / sinh^2(x_i / 2)),
///
/// x_i = 1/scale_i. This form of (cosh x - 1)/(cosh x - cos(c theta)) has no cancellation at any
/// scale. Each factor returns to 1 wherever c_i theta is a multiple of 2 pi: S lies on a lattice.
class CharacteristicFunction {
public:
    static constexpr int kBatch = 16;

    explicit CharacteristicFunction(const NoiseSum& sum);

    /// That of (1 - weight) S + weight S', S' an independent copy of S, 0 <= weight <= 1/2. Its
    /// lattice is unknown, which reads as infinitely fine.
    [[nodiscard]] CharacteristicFunction mixed(double weight) const;

    /// S lies on the multiples of 1/lattice(). A double holds it to its size and parity only where
    /// it is below 2^53; lattice_is_odd() is exact.
    [[nodiscard]] double lattice() const noexcept { return lattice_; }
    [[nodiscard]] bool lattice_is_odd() const noexcept { return lattice_is_odd_; }

    /// The number of different (weight, scale) pairs: what evaluating costs.
    [[nodiscard]] int groups() const noexcept { return static_cast<int>(groups_.size()); }

    /// The scale, where S is one unweighted variable.
    [[nodiscard]] std::optional<double> single() const noexcept;

    /// Variance of S.
    [[nodiscard]] double variance() const noexcept;

    /// A radius r with P(|S| >= r) <= probability (Chernoff's bound).
    [[nodiscard]] double tail_radius(double probability) const noexcept;

    /// The greatest weight: up to pi/(2 * largest_weight()) phi falls, and a longer interval than
    /// that is hardly ever worth asking supremum() for.
    [[nodiscard]] double largest_weight() const noexcept;

    /// phi at start, start + step, ...: count <= kBatch values. Fastest from start = step on.
    void evaluate(double start, double step, int count, double* values) const noexcept;

    /// An upper bound of phi over [from, to]; stops early once it is at most `enough`, or where the
    /// factors that matter most say nothing.
    [[nodiscard]] double supremum(double from, double to, double enough) const noexcept;

private:
    struct Group {
        double weight;        ///< abs(c)
        double scale;         ///< of the Laplace distribution
        double inverse_sinh2; ///< 1 / sinh^2(1 / (2 scale))
        double multiplicity;
        double speed; ///< at which its factor leaves 1
    };
    /// log of the product of some groups' factors: a polynomial in theta^2 / 4, without the first
    /// coefficient, which is 0.
    struct Series {
        double coefficient[4];
    };

    CharacteristicFunction() = default;

    /// Once groups_ has all groups, fast ones first.
    void add_series();

    /// log E exp(rate * S) or a little more, infinite where it may not exist.
    [[nodiscard]] double log_moment(double rate) const noexcept;

    std::vector<Group> groups_; ///< fast ones first
    std::vector<Series> rests_; ///< of each group and all after it
    double lattice_;
    bool lattice_is_odd_;
};

} // namespace dp_counter
