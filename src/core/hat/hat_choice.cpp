#include "core/hat/hat_choice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "core/base/checkpoint.hpp"
#include "core/hat/hat_table.hpp"

namespace dp_counter {

namespace {

constexpr std::int64_t kAlwaysCompared = 64; ///< up to this horizon noise per step may win

/// Where the first knot lies decides how accurate the first steps are and how many nodes they need.
/// In a long stream its mean error does not feel it, and the table has any place.
constexpr std::int64_t kLong = 30000;
constexpr std::int32_t kFirstKnot = 12; ///< of a long stream, at most

/// The table's hats for this horizon.
HatLevels table_hat(std::int64_t horizon, PrivacyUnit unit) {
    // Past the table: levels of radix 18 below those for a smaller horizon.
    constexpr HatShape usual{18, 13};
    std::vector<HatShape> shapes;
    std::int64_t t = horizon;
    for (; t > std::rbegin(kHatTable)->from / 10 * 12; t = (t + usual.radix - 1) / usual.radix)
        shapes.push_back(usual);
    const HatTableEntry* entry =
        std::upper_bound(std::begin(kHatTable), std::end(kHatTable), t,
                         [](std::int64_t at, const HatTableEntry& e) { return at < e.from; });
    if (entry != std::begin(kHatTable))
        --entry;
    shapes.insert(shapes.end(), entry->shape, entry->shape + entry->levels);
    if (horizon >= kLong)
        shapes.front().offset = std::min(shapes.front().offset, kFirstKnot);
    return fitted_hat_levels(horizon, shapes, unit, HatLevels::End::fading);
}

double cost(const HatLevels& spec, PrivacyUnit unit) {
    return hat_levels_mse(spec, unit) + (spec.height > 1 ? kRoundingVariance : 0);
}

/// Keeps the better one.
class Best {
public:
    explicit Best(PrivacyUnit unit) : unit_(unit) {}

    /// Whether it is better than all before.
    bool offer(const HatLevels& spec) {
        checkpoint();
        if (!hat_fits(spec, unit_))
            return false;
        const double here = cost(spec, unit_);
        if (spec_ && here >= cost_)
            return false;
        spec_ = spec;
        cost_ = here;
        return true;
    }
    [[nodiscard]] const HatLevels& get() const {
        if (!spec_)
            throw Error(Fault::parameter, "epsilon is too small for this horizon",
                        "Choose a larger epsilon or a smaller horizon.");
        return *spec_;
    }

private:
    PrivacyUnit unit_;
    std::optional<HatLevels> spec_;
    double cost_ = 0;
};

} // namespace

double hat_levels_mse(const HatLevels& spec, PrivacyUnit unit) {
    if (spec.height == 1)
        return 0.5 * (static_cast<double>(spec.horizon) + 1) * hat_node_variance(spec, unit, 0);
    if (spec.rule == HatLevels::Rule::bridge)
        return bridge_mean_row_norms(spec).variance(hat_node_variances(spec, unit));
    if (const KnownEnergy* known = known_energy(spec))
        return known->mean.variance(hat_node_variances(spec, unit));
    return hat_mse(HatWeightsBlock(spec).get(), unit);
}

HatLevels choose_hat(std::int64_t horizon, PrivacyUnit unit) {
    const HatLevels flat = bridge_levels(horizon, {});
    const HatLevels hat = table_hat(horizon, unit);
    const bool fits = hat_fits(hat, unit);
    if (fits && horizon > kAlwaysCompared && is_nearly_continuous(unit))
        return hat;
    Best best(unit);
    best.offer(flat);
    best.offer(hat);
    if (!fits || !is_nearly_continuous(unit))
        best.offer(choose_bridge(horizon, unit));
    return best.get();
}

HatLevels choose_bridge(std::int64_t horizon, PrivacyUnit unit) {
    Best best(unit);
    best.offer(bridge_levels(horizon, {}));
    const auto t = static_cast<double>(horizon);
    for (int levels = 1; levels < HatLevels::kMaxHeight; ++levels) {
        // Radix r leaves t / r^levels top nodes: from 2 to 2 r.
        const double most = std::min(std::pow(t / 2, 1.0 / levels), double{kMaxRadix});
        const double least = std::max(2.0, std::pow(t / 2, 1.0 / (levels + 1)));
        if (most < 2)
            break;
        const double ratio = std::max(1.02, std::pow(most / least, 1.0 / 24));
        std::int32_t last = 0;
        std::int32_t found = 0; // the best of this height, if it is the best of all so far
        // The same radix on all levels, but one more on the `greater` uppermost ones.
        const auto offer = [&](std::int32_t radix, int greater) {
            std::vector<std::int32_t> radices(static_cast<std::size_t>(levels), radix);
            std::fill(radices.end() - greater, radices.end(), radix + 1);
            if (radix >= kMinRadix && radix + 1 <= kMaxRadix &&
                best.offer(bridge_levels(horizon, radices)))
                found = radix;
        };
        const int candidates =
            1 + static_cast<int>(std::floor(std::log(most * ratio / least) / std::log(ratio)));
        for (int i = 0; i < candidates; ++i) {
            const double r = least * std::pow(ratio, i);
            const auto radix = static_cast<std::int32_t>(std::clamp(r, 2.0, double{kMaxRadix - 1}));
            if (radix == last)
                continue;
            last = radix;
            offer(radix, 0);
            offer(radix, 1);
            offer(radix - 1, levels - 1);
        }
        if (found == 0)
            continue;
        for (const std::int32_t radix : {found - 1, found})
            for (int greater = 1; greater <= levels; ++greater)
                offer(radix, greater);
    }
    return best.get();
}

HatLevels uniform_hat(HatLevels::Rule rule, std::int64_t horizon, std::int32_t k,
                      PrivacyUnit unit) {
    // The tower up to at most k knots on top, one level less, and one more.
    const auto make = [&](int levels) {
        const auto n = static_cast<std::size_t>(levels);
        if (rule == HatLevels::Rule::bridge)
            return bridge_levels(horizon, std::vector<std::int32_t>(n, k));
        return fitted_hat_levels(horizon, std::vector<HatShape>(n, HatShape{k, k * 7 / 10}), unit);
    };
    int levels = 1;
    while (make(levels).level[levels - 1].knots > k)
        ++levels;
    require_hat_fits(make(levels), unit);
    Best best(unit);
    for (int n = std::max(1, levels - 1); n <= levels; ++n)
        best.offer(make(n));
    return best.get();
}

} // namespace dp_counter
