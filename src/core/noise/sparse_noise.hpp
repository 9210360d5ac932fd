// Noise of many cells of which only those are shown that reach a threshold, at a cost that does not
// depend on how many cells there are.
//
// Each of M cells has discrete Laplace noise Z of its own, q = exp(-1 / scale). It reaches t, at
// least 1, with probability p = q^t / (1 + q), independently of the others: so the number of cells
// of which it does is binomial, and they are any of the M. Z - t of such a cell is geometric,
// P(Z - t = g) = (1 - q) q^g. The threshold t is the least integer with M p <= 1/20.
#pragma once

#include <cstdint>

#include "core/noise/discrete_laplace.hpp"

namespace dp_counter {

/// A number of cells, and the noise of each.
struct SparseLaw {
    LaplaceScale noise;
    uint128 cells; ///< M, 1 .. 2^64

    [[nodiscard]] const LaplaceScale& scale() const noexcept { return noise; }

    /// t. With 95 % no noise reaches it: the expected number that does is at most 1/20.
    [[nodiscard]] std::int64_t threshold() const;
};

/// The exact sampler of such a law. It holds public values alone.
class SparseNoise {
public:
    /// Takes a few milliseconds. Throws Error (parameter) as DiscreteLaplace does.
    explicit SparseNoise(const SparseLaw& law);

    [[nodiscard]] const SparseLaw& law() const noexcept { return law_; }
    [[nodiscard]] std::int64_t threshold() const noexcept { return threshold_; }

    /// The noise of one cell.
    [[nodiscard]] const DiscreteLaplace& of_cell() const noexcept { return of_cell_; }

private:
    friend class Release; // which alone draws: its unit of privacy is stated

    /// The binomial number of cells. One uniform number is compared with P(0), P(0) + P(1), ... by
    /// enclosures, which take as many bits as decide: P(0) = (1 - p)^M, and P(k + 1) is P(k) times
    /// (M - k) / (k + 1) p / (1 - p).
    [[nodiscard]] std::uint64_t draw_reaching(RandomSource& random) const;

    /// Z, given that it reaches t.
    [[nodiscard]] std::int64_t draw_shown(RandomSource& random) const;

    /// Uniform on 0 .. end - 1: bits are drawn again while they are not below `end`, at least 1.
    [[nodiscard]] static uint128 draw_below(uint128 end, RandomSource& random);

    SparseLaw law_;
    std::int64_t threshold_;
    DiscreteLaplace of_cell_;
};

} // namespace dp_counter
