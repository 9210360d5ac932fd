#include "core/hat/hat_choice.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

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

/// The better one of two; the first where they are equal.
HatLevels better(const HatLevels& a, const HatLevels& b, PrivacyUnit unit) {
    return cost(b, unit) < cost(a, unit) ? b : a;
}

} // namespace

double hat_levels_mse(const HatLevels& spec, PrivacyUnit unit) {
    if (spec.height == 1)
        return 0.5 * (static_cast<double>(spec.horizon) + 1) * hat_node_variance(spec, unit, 0);
    if (const KnownEnergy* known = known_energy(spec))
        return known->mean.variance(hat_node_variances(spec, unit));
    return hat_mse(HatWeightsBlock(spec).get(), unit);
}

HatLevels choose_hat(std::int64_t horizon, PrivacyUnit unit) {
    const HatLevels hat = table_hat(horizon, unit);
    require_hat_fits(hat, unit);
    if (horizon > kAlwaysCompared && is_nearly_continuous(unit))
        return hat;
    const HatLevels flat = hat_levels(horizon, {});
    return hat_fits(flat, unit) ? better(flat, hat, unit) : hat;
}

HatLevels uniform_hat(std::int64_t horizon, std::int32_t k, PrivacyUnit unit) {
    const auto make = [&](int levels) {
        const std::vector<HatShape> shapes(static_cast<std::size_t>(levels), {k, k * 7 / 10});
        return fitted_hat_levels(horizon, shapes, unit);
    };
    int levels = 1; // of the tower up to at most k knots on top
    while (make(levels).level[levels - 1].knots > k)
        ++levels;
    const HatLevels tower = make(levels);
    require_hat_fits(tower, unit); // then so does one level less
    return levels == 1 ? tower : better(make(levels - 1), tower, unit);
}

} // namespace dp_counter
