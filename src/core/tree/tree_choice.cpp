#include "core/tree/tree_choice.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "core/tree/tree_variance.hpp"

namespace dp_counter {

namespace {

using Digits = DigitSystem (*)(std::int32_t radix);

/// The least radix with which `height` digits reach the horizon, or none up to kMaxRadix.
std::optional<std::int32_t> least_radix(Digits digits, int height, std::int64_t horizon) {
    std::int32_t low = kMinRadix;
    std::int32_t high = kMaxRadix + 1;
    while (low < high) {
        const std::int32_t middle = low + (high - low) / 2;
        if (digits(middle).capacity(height) >= horizon)
            high = middle;
        else
            low = middle + 1;
    }
    if (low > kMaxRadix)
        return std::nullopt;
    return low;
}

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

/// The radices that need exactly this height: [first, end).
struct Range {
    int height;
    std::int32_t first;
    std::int32_t end;
};

/// All heights that some radix needs for this horizon, lowest first. Of a single digit only the
/// least radix is of interest: at step t it uses t nodes, whatever the radix.
std::vector<Range> ranges(Digits digits, std::int64_t horizon) {
    std::vector<Range> result;
    std::int32_t end = kMaxRadix + 1;
    for (int height = 1; height <= kMaxHeight && end > kMinRadix; ++height) {
        const std::int32_t first = least_radix(digits, height, horizon).value_or(end);
        if (first < end)
            result.push_back({height, first, height == 1 ? first + 1 : end});
        end = std::min(first, end);
    }
    return result;
}

} // namespace

DigitSystem choose_tree(Digits digits, std::int64_t horizon, PrivacyUnit unit) {
    std::optional<std::tuple<double, int, std::int32_t>> best; // MSE, height, radix
    const auto node_variance = [&](int height) { return tree_scale(height, unit).variance(); };
    const auto offer = [&](int height, std::int32_t radix) {
        const double mse = tree_mse(digits(radix), horizon, node_variance(height));
        const std::tuple candidate(mse, height, radix);
        if (!best || candidate < *best)
            best = candidate;
    };
    const std::vector<Range> all = ranges(digits, horizon);
    for (const Range& range : all) // the least radix is nearly the best: later searches end early
        offer(range.height, range.first);
    for (const Range& range : all) {
        const double variance = node_variance(range.height);
        for (std::int32_t radix = range.first + 1; radix < range.end; ++radix) {
            if (std::get<0>(*best) <
                variance * least_mean_nodes(digits(radix).radix(), range.height, horizon))
                break;
            offer(range.height, radix);
        }
    }
    return digits(std::get<2>(*best));
}

} // namespace dp_counter
