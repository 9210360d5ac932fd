#include "core/count/mechanism_spec.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/count/epochs.hpp"
#include "core/hat/hat_choice.hpp"
#include "core/tree/tree_choice.hpp"
#include "core/tree/tree_variance.hpp"

namespace dp_counter {

namespace {

struct Name {
    Mechanism mechanism;
    const char* text;
};

constexpr std::array<Name, 3> kNames{{
    {Mechanism::hat, "hat"},
    {Mechanism::subtraction, "subtraction"},
    {Mechanism::plain, "plain"},
}};

DigitSystem digits_of(Mechanism mechanism, std::int32_t radix) {
    return mechanism == Mechanism::plain ? DigitSystem::plain(radix) : DigitSystem::offset(radix);
}

MechanismSpec tree_of(const Request& request, Mechanism mechanism, std::int32_t radix) {
    const int height = digits_of(mechanism, radix).height(request.horizon);
    return {mechanism, radix, height, request.horizon, request.unit, {}};
}

MechanismSpec best_tree(const Request& request, Mechanism mechanism) {
    const auto digits = mechanism == Mechanism::plain ? &DigitSystem::plain : &DigitSystem::offset;
    return tree_of(request, mechanism, choose_tree(digits, request.horizon, request.unit).radix());
}

MechanismSpec with_levels(const Request& request, std::int32_t radix, const HatLevels& levels) {
    return {Mechanism::hat, radix, levels.height, request.horizon, request.unit, levels};
}

MechanismSpec with_radix(const Request& request, std::int32_t radix) {
    const Mechanism mechanism = request.mechanism.value_or(Mechanism::subtraction);
    if (mechanism == Mechanism::hat)
        return with_levels(request, radix, uniform_hat(request.horizon, radix, request.unit));
    return tree_of(request, mechanism, radix);
}

MechanismSpec best_of_all(const Request& request) {
    std::optional<MechanismSpec> hats;
    try {
        hats = with_levels(request, 0, choose_hat(request.horizon, request.unit));
    } catch (const Error&) { // their lattices are too fine for this epsilon: the trees are left
    }
    // Where discrete noise is like continuous noise, hats are better than any tree (a test holds
    // this at many horizons), which need not be asked. Noise of few integers may favour a tree.
    if (hats && is_nearly_continuous(request.unit) && hats->height > 1)
        return *hats;
    std::vector<MechanismSpec> offers{best_tree(request, Mechanism::plain),
                                      best_tree(request, Mechanism::subtraction)};
    if (hats && (hats->height > 1 || request.horizon > kMaxRadix)) // one level is plain already
        offers.push_back(*hats);
    return std::ranges::min(offers, {}, [](const MechanismSpec& spec) {
        return std::tuple(spec.mse(), spec.height, spec.radix);
    });
}

MechanismSpec make_bounded_plan(const Request& request) {
    check_horizon(request.horizon);
    if (request.radix) {
        require_range("k", *request.radix, kMinRadix, kMaxRadix,
                      "k is the radix of the tree, not the horizon. Leave it out, or NULL, to have "
                      "the most accurate one chosen.");
        return with_radix(request, *request.radix);
    }
    if (!request.mechanism)
        return best_of_all(request);
    if (*request.mechanism == Mechanism::hat)
        return with_levels(request, 0, choose_hat(request.horizon, request.unit));
    return best_tree(request, *request.mechanism);
}

MechanismSpec make_epoch_mechanism(const Request& request, int epoch) {
    Request bounded = request;
    bounded.horizon = epoch_length(epoch);
    const bool hats = request.mechanism.value_or(Mechanism::hat) == Mechanism::hat;
    if (request.radix && request.mechanism == Mechanism::hat && epoch > 0) {
        try {
            return make_bounded_plan(bounded);
        } catch (const Error&) { // too many levels, or lattices too fine for this epsilon
            bounded.radix.reset();
            bounded.mechanism.reset();
        }
    } else if (!request.radix && hats) {
        const HatLevels levels = epoch_levels(epoch, request.unit);
        if (hat_fits(levels, request.unit))
            return with_levels(bounded, 0, levels);
        bounded.mechanism.reset(); // trees go on where hats no longer fit
    }
    return make_bounded_plan(bounded);
}

} // namespace

void check_horizon(std::int64_t horizon) {
    require_range(
        "horizon", horizon, 1, kMaxHorizon,
        "The horizon is the largest number of steps: rows of a query, ticks or periods of a "
        "counter.");
}

const char* mechanism_name(Mechanism mechanism) noexcept {
    for (const Name& name : kNames)
        if (name.mechanism == mechanism)
            return name.text;
    return "unknown";
}

Mechanism mechanism_from_name(std::string_view text) {
    std::string known;
    for (const Name& name : kNames) {
        if (text == name.text)
            return name.mechanism;
        known += std::string(known.empty() ? "" : ", ") + "\"" + name.text + "\"";
    }
    throw Error(Fault::parameter, "unknown mechanism \"" + std::string(text.substr(0, 64)) + "\"",
                "The mechanisms are " + known + ". By default, the best one is chosen.");
}

DigitSystem MechanismSpec::digits() const {
    return digits_of(mechanism, radix);
}

LaplaceScale MechanismSpec::scale(int number) const noexcept {
    if (is_tree())
        return tree_scale(height, unit);
    return hat_scale(levels, unit, number);
}

double MechanismSpec::mse() const {
    if (!is_tree())
        return hat_levels_mse(levels, unit) + (is_fractional() ? kRoundingVariance : 0);
    return tree_mse(digits(), horizon, scale().variance());
}

MechanismSpec make_mechanism(const Request& request, int epoch) {
    request.unit.require_scale(1); // before any mechanism has to do with it
    MechanismSpec spec = request.horizon != kUnbounded ? make_bounded_plan(request)
                                                       : make_epoch_mechanism(request, epoch);
    spec.unit.require_scale(spec.height);
    return spec;
}

} // namespace dp_counter
