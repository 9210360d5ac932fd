// The noise of a stock, whose steps lie in blocks: anchors, and what changes after them.
//
// The first step of a block is an anchor: its stock is a node of its own. In the other steps the
// increments, stock less that of the step before, are a stream with a horizon of block - 1, which
// begins anew in each block. The noise of a step is that of the block's anchor and, after it, of
// the stream (docs/derivation.md, section 12, "Stocks").
//
// A unit changes stocks on one interval of at most `block` steps, by at most `sensitivity` s in
// l1: anchors by s, increments by 2 s. The anchor's noise of scale 21 s / (5 epsilon) costs 5/21
// of epsilon, that of the nodes, of scale height * 21 s / (8 epsilon), the other 16/21. Both are
// exact: 8 epsilon is a double. An anchor's share of at most 1/3 also covers an interval of
// block + 1 steps: two anchors, and one increment.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/count/mechanism_spec.hpp"

namespace dp_counter {

struct AnchoredLaw {
    static constexpr std::int64_t kMostSteps = 10'000'000;

    PrivacyUnit unit;
    std::int64_t block; ///< 2 .. kMostSteps, at least the most steps that a unit can change

    /// Throws Error (parameter) for a block, or a sensitivity, that is out of range.
    AnchoredLaw(const PrivacyUnit& unit, std::int64_t block);

    [[nodiscard]] LaplaceScale anchor() const noexcept {
        return {unit.epsilon, static_cast<uint128>(21 * unit.sensitivity), 5};
    }
    /// The stream of a block's increments.
    [[nodiscard]] Request increments() const {
        const double epsilon = std::min(8 * unit.epsilon.value(), Epsilon::kMax); // less is private
        return {block - 1, {Epsilon(epsilon), 21 * unit.sensitivity}, {}, {}};
    }
    /// Increments of the block that are taken with a step, 1, 2, ...: 0 of an anchor.
    [[nodiscard]] std::int64_t increments_at(std::int64_t step) const noexcept {
        return (step - 1) % block;
    }

    /// Mean of the releases' variances over a block, rounding included.
    [[nodiscard]] double mse() const;

    friend bool operator==(const AnchoredLaw&, const AnchoredLaw&) = default;
};

} // namespace dp_counter
