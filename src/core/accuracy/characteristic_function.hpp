// Characteristic functions of symmetric sums: what an inversion asks of one, and that of a weighted
// sum of discrete Laplace variables.
#pragma once

#include <optional>
#include <vector>

#include "core/accuracy/noise_sum.hpp"

namespace dp_counter {

/// phi(theta) = E exp(i theta S) of a symmetric S: it is real.
class Characteristic {
public:
    static constexpr int kBatch = 16;

    /// S lies on the multiples of 1/lattice(). A double holds it to its size only where it is below
    /// 2^53.
    [[nodiscard]] virtual double lattice() const noexcept = 0;

    /// What evaluating costs.
    [[nodiscard]] virtual int groups() const noexcept = 0;

    /// A radius r with P(|S| >= r) <= probability.
    [[nodiscard]] virtual double tail_radius(double probability) const noexcept = 0;

    /// The greatest weight of a variable: up to pi/(2 * largest_weight()) abs(phi) falls, and a
    /// longer interval than that is hardly ever worth asking supremum() for.
    [[nodiscard]] virtual double largest_weight() const noexcept = 0;

    /// phi at start, start + step, ...: count <= kBatch values. Fastest from start = step on.
    virtual void evaluate(double start, double step, int count, double* values) const noexcept = 0;

    /// An upper bound of abs(phi) over [from, to]; stops early once it is at most `enough`.
    [[nodiscard]] virtual double supremum(double from, double to, double enough) const noexcept = 0;

protected:
    Characteristic() = default;
    Characteristic(const Characteristic&) = default;
    Characteristic& operator=(const Characteristic&) = default;
    ~Characteristic() = default;
};

/// That of S = sum_i c_i Z_i, which is positive:
///
///     phi(theta) = product over i of 1 / (1 + sin^2(c_i theta / 2) / sinh^2(x_i / 2)),
///
/// x_i = 1/scale_i. This form of (cosh x - 1)/(cosh x - cos(c theta)) has no cancellation at any
/// scale. Each factor returns to 1 wherever c_i theta is a multiple of 2 pi: S lies on a lattice.
class CharacteristicFunction final : public Characteristic {
public:
    explicit CharacteristicFunction(const NoiseSum& sum);

    /// That of (1 - weight) S + weight S', S' an independent copy of S, 0 <= weight <= 1/2. Its
    /// lattice is unknown, which reads as infinitely fine.
    [[nodiscard]] CharacteristicFunction mixed(double weight) const;

    [[nodiscard]] double lattice() const noexcept override { return lattice_; }
    /// The parity of the lattice, exactly.
    [[nodiscard]] bool lattice_is_odd() const noexcept { return lattice_is_odd_; }

    [[nodiscard]] int groups() const noexcept override { return static_cast<int>(groups_.size()); }

    /// The scale, where S is one unweighted variable.
    [[nodiscard]] std::optional<double> single() const noexcept;

    /// Variance of S.
    [[nodiscard]] double variance() const noexcept;

    /// Chernoff's bound.
    [[nodiscard]] double tail_radius(double probability) const noexcept override;
    [[nodiscard]] double largest_weight() const noexcept override;
    void evaluate(double start, double step, int count, double* values) const noexcept override;
    [[nodiscard]] double supremum(double from, double to, double enough) const noexcept override;

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
