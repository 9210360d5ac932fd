// From a characteristic function back to probabilities, with a certified error.
#pragma once

#include <cstdint>
#include <vector>

#include "core/accuracy/characteristic_function.hpp"

namespace dp_counter {

/// Computes P(|S + G| < b), S a symmetric sum with the characteristic function phi.
///
/// By Poisson's summation formula, with a period L and theta_k = 2 pi k / L,
///
///     2b/L + (2/pi) sum over k >= 1 of sin(b theta_k) / k * phi(theta_k) g(theta_k)
///
/// is exactly the probability that S + G lies in (-b, b) modulo L. What is left out of the sum is
/// bounded: blocks of k in which phi is small everywhere (Characteristic::supremum) are
/// skipped, others are halved and, when short, summed. Two ways to make the sum finite:
///
///   smoothed  G has the Kaiser-Bessel density on [-eta, eta], so that g(theta) vanishes but for
///             the tolerance from theta = log(8/tolerance)/eta on. Since |G| <= eta,
///             P(|S| <= b - eta) <= P(|S + G| < b) <= P(|S| < b + eta).
///   lattice   G = 0; S lies on multiples of 1/d: with L = M/d the sum over k folds exactly into
///             k = 1..(M-1)/2 with 2/(M sin(pi k/M)) for (2/pi)/k. Good for b midway between two
///             lattice points.
class Inversion {
public:
    /// Which b are good, and how well: for b <= reach each probability is off by `tolerance` at
    /// most. `budget` is the number of factors of phi that may be computed; see complete().
    struct Limits {
        double reach;
        double tolerance;
        std::int64_t budget;
    };

    static Inversion smoothed(const Characteristic& phi, double eta, const Limits& limits);
    static Inversion lattice(const Characteristic& phi, const Limits& limits);

    /// False where the budget did not suffice: then probability() must not be used.
    [[nodiscard]] bool complete() const noexcept { return spent_ <= limits_.budget; }
    [[nodiscard]] std::int64_t spent() const noexcept { return spent_; }

    struct Value {
        double probability;
        double slope; ///< derivative with respect to b
    };
    [[nodiscard]] Value at(double b) const;

    /// The number of k in lattice(), to choose between the two.
    [[nodiscard]] static double lattice_points(const Characteristic& phi,
                                               const Limits& limits) noexcept;

private:
    Inversion(const Characteristic& phi, const Limits& limits, double period, double eta);

    /// Sums or skips k = 1..last.
    void add(double last);
    void sum(double first, int count);
    [[nodiscard]] double smoothing(double theta) const noexcept;

    struct Block {
        double first; ///< k
        std::int32_t count;
    };

    const Characteristic* phi_; ///< used while constructing only
    Limits limits_;
    double step_;       ///< 2 pi / L
    double points_ = 0; ///< M of the lattice form, 0 in the smoothed one
    double eta_;
    double beta_;          ///< shape of the Kaiser-Bessel density
    double unit_;          ///< beta / sinh(beta)
    double threshold_ = 0; ///< blocks whose terms are below it are left out
    std::int64_t spent_ = 0;
    std::vector<Block> blocks_;
    std::vector<double> weights_;
};

} // namespace dp_counter
