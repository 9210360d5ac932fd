// How much noise the paper's mechanisms add, exactly: public values only, for choosing and
// reporting.
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "core/noise/privacy_unit.hpp"
#include "core/tree/offset_digits.hpp"

namespace dp_counter {

/// What the noise of a node is drawn from: a step lies in one node of each level, so the l1
/// sensitivity of all nodes together is the height.
[[nodiscard]] LaplaceScale tree_scale(int height, PrivacyUnit unit) noexcept;

/// The number of nodes whose noise is in the release at step t: sum of abs(digit).
[[nodiscard]] std::int64_t nodes_at(const DigitSystem& system, std::int64_t t) noexcept;

/// The number of nodes whose noise is in just one of the releases at steps `since` and t (nodes in
/// both cancel in the difference; none is added in one and subtracted in the other): a node is
/// named by the digits above it, its place and its side. nodes_at(t) for since = 0.
[[nodiscard]] std::int64_t nodes_between(const DigitSystem& system, std::int64_t since,
                                         std::int64_t t) noexcept;

/// Sum of nodes_at(t) over t = 1..horizon, exactly, in O(height) (the closed forms of the paper's
/// Lemma "main mse" hold only at full horizons).
[[nodiscard]] uint128 total_nodes(const DigitSystem& system, std::int64_t horizon) noexcept;

/// max nodes_at(t) over t = 1..horizon, exactly, in O(height).
[[nodiscard]] std::int64_t max_nodes(const DigitSystem& system, std::int64_t horizon) noexcept;

/// Mean of the releases' variances over t = 1..horizon, for nodes of this variance.
[[nodiscard]] double tree_mse(const DigitSystem& system, std::int64_t horizon,
                              double node_variance) noexcept;

} // namespace dp_counter
