#include "core/tree/tree_choice.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/base/bisection.hpp"
#include "core/base/limits.hpp"
#include "core/tree/tree_variance.hpp"

namespace dp_counter {

namespace {

/// A lower bound for the mean number of nodes, good for this radix and all greater ones of the
/// same height (so that a search may stop). A level whose digits run through complete periods of
/// k^l steps has a mean abs digit of at least (k - 1/k)/4 in them. The top level is left out, and
/// the one below it where other levels remain: they may not complete a period.
double least_mean_nodes(std::int32_t radix, int height, std::int64_t horizon) {
    const double k = radix;
    const double level = (k - 1 / k) / 4;
    if (height == 2) // rises with k up to horizon / 2; above, one level does better in any case
        return level * std::max(0.25, 1 - k / static_cast<double>(horizon));
    return level * std::max(0.0, 1 - 2 / k) * (height - 2);
}

} // namespace

DigitSystem choose_tree(DigitSystem (*digits)(std::int32_t), std::int64_t horizon,
                        PrivacyUnit unit) {
    std::tuple best(std::numeric_limits<double>::infinity(), 0, 0); // MSE, height, number
    for (std::int32_t number = kMinRadix; number <= kMaxRadix;) {
        const DigitSystem system = digits(number);
        const int height = system.height(horizon);
        const double node_variance = tree_scale(height, unit).variance();
        if (std::get<0>(best) < node_variance * least_mean_nodes(system.radix(), height, horizon)) {
            number = first_without(number, kMaxRadix, [&](std::int32_t greater) {
                return digits(greater).capacity(height - 1) < horizon; // it is as high
            });
            continue;
        }
        best = std::min(best, {tree_mse(system, horizon, node_variance), height, number});
        if (height == 1) // at step t it uses t nodes, whatever the radix
            break;
        ++number;
    }
    return digits(std::get<2>(best));
}

} // namespace dp_counter
