// The least width that holds a probability.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/accuracy/inversion.hpp"

namespace dp_counter {

/// The least width in 0..most where bound(width), an Inversion::Value that rises with the width, is
/// at least `confidence`; at `most` it is assumed to be.
template <class Bound>
[[nodiscard]] std::int64_t least_width(Bound&& bound, double confidence, double guess,
                                       std::int64_t most) {
    constexpr int kNewton = 10; // steps before plain bisection takes over
    std::int64_t below = -1;
    std::int64_t width = most;
    auto next = static_cast<std::int64_t>(std::min(guess, 9e18));
    for (int round = 0; width - below > 1; ++round) {
        if (round >= kNewton)
            next = below + (width - below) / 2;
        next = std::clamp(next, below + 1, width - 1);
        const auto [reached, slope] = bound(next);
        (reached >= confidence ? width : below) = next;
        const double root =
            static_cast<double>(next) + (confidence - reached) / std::max(slope, 1e-300);
        next = static_cast<std::int64_t>(std::ceil(std::clamp(root, -1.0, 9e18)));
    }
    return width;
}

} // namespace dp_counter
