// The error of "Honaker Online" (Honaker 2015): a binary tree whose nodes are refined from below.
#pragma once

#include <cstdint>

#include "core/noise/privacy_unit.hpp"

namespace dp_counter {

/// Mean and greatest variance of a mechanism's releases.
struct ErrorSummary {
    double mse;
    double max_variance;
};

/// The binary tree of plain counting in which every node in use is replaced by the combination of
/// least variance of all noisy nodes of its own subtree, which is complete by then. A node with
/// subtree height l + 1 (l = 0 for a leaf) then has the variance 1/(2 (1 - 2^-(l+1))) of a node's.
[[nodiscard]] ErrorSummary honaker_online(std::int64_t horizon, PrivacyUnit unit) noexcept;

} // namespace dp_counter
