#include "core/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "core/epochs.hpp"
#include "core/error.hpp"
#include "core/hat_choice.hpp"
#include "core/tree_error.hpp"

namespace dp_counter {

namespace {

struct Name {
    Mechanism mechanism;
    const char* text;
};

constexpr std::array<Name, 4> kNames{{
    {Mechanism::hat, "hat"},
    {Mechanism::bridge, "bridge"},
    {Mechanism::subtraction, "subtraction"},
    {Mechanism::plain, "plain"},
}};

DigitSystem digit_system(Mechanism mechanism, std::int32_t radix) {
    return mechanism == Mechanism::plain ? DigitSystem::plain(radix) : DigitSystem::offset(radix);
}

void check(const Request& request) {
    if (request.horizon < 1 || request.horizon > kMaxHorizon)
        throw Error(Fault::parameter,
                    "horizon must be between 1 and " + std::to_string(kMaxHorizon) + ", not " +
                        std::to_string(request.horizon),
                    "The horizon is the greatest number of rows that the count may run over.");
    if (request.radix && (*request.radix < kMinRadix || *request.radix > kMaxRadix))
        throw Error(Fault::parameter,
                    "k must be between " + std::to_string(kMinRadix) + " and " +
                        std::to_string(kMaxRadix) + ", not " + std::to_string(*request.radix),
                    "Leave k out to have the most accurate one chosen.");
}

/// The least radix with which `height` digits reach the horizon, or none up to kMaxRadix.
std::optional<std::int32_t> least_radix(Mechanism mechanism, int height, std::int64_t horizon) {
    std::int32_t low = kMinRadix;
    std::int32_t high = kMaxRadix + 1;
    while (low < high) {
        const std::int32_t middle = low + (high - low) / 2;
        if (digit_system(mechanism, middle).capacity(height) >= horizon)
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

/// Keeps the best of the plans offered to it.
class Best {
public:
    void offer(const Plan& plan) {
        const double mse = plan.mse();
        if (!plan_ || std::tuple(mse, plan.height, plan.radix) <
                          std::tuple(mse_, plan_->height, plan_->radix)) {
            plan_ = plan;
            mse_ = mse;
        }
    }
    [[nodiscard]] bool beats(double mse) const { return plan_ && mse_ < mse; }
    [[nodiscard]] const Plan& plan() const { return *plan_; }

private:
    std::optional<Plan> plan_;
    double mse_ = 0;
};

/// The radices that need exactly this height: [first, end).
struct Range {
    Mechanism mechanism;
    int height;
    std::int32_t first;
    std::int32_t end;
};

/// All heights that some radix needs for this horizon, lowest first. Of a single digit only the
/// least radix is of interest: at step t it uses t nodes, whatever the radix.
std::vector<Range> ranges(Mechanism mechanism, std::int64_t horizon) {
    std::vector<Range> result;
    std::int32_t end = kMaxRadix + 1;
    for (int height = 1; height <= kMaxHeight && end > kMinRadix; ++height) {
        const std::int32_t first = least_radix(mechanism, height, horizon).value_or(end);
        if (first < end)
            result.push_back({mechanism, height, first, height == 1 ? first + 1 : end});
        end = std::min(first, end);
    }
    return result;
}

void search(Best& best, const Request& request, Mechanism mechanism) {
    const std::vector<Range> all = ranges(mechanism, request.horizon);
    const auto plan = [&](const Range& range, std::int32_t radix) {
        return Plan{mechanism, radix, range.height, request.horizon, request.epsilon, {}};
    };
    for (const Range& range : all) // the least radix is nearly the best: later searches end early
        best.offer(plan(range, range.first));
    for (const Range& range : all) {
        const double node_variance = plan(range, range.first).scale().variance();
        for (std::int32_t radix = range.first + 1; radix < range.end; ++radix) {
            if (best.beats(node_variance * least_mean_nodes(radix, range.height, request.horizon)))
                break;
            best.offer(plan(range, radix));
        }
    }
}

Plan with_levels(const Request& request, std::int32_t radix, const HatSpec& levels) {
    const Mechanism mechanism =
        levels.rule == HatSpec::Rule::hat ? Mechanism::hat : Mechanism::bridge;
    return {mechanism, radix, levels.height, request.horizon, request.epsilon, levels};
}

Plan with_radix(const Request& request, std::int32_t radix) {
    const Mechanism mechanism = request.mechanism.value_or(Mechanism::subtraction);
    if (mechanism == Mechanism::bridge || mechanism == Mechanism::hat) {
        const auto rule = mechanism == Mechanism::hat ? HatSpec::Rule::hat : HatSpec::Rule::bridge;
        return with_levels(request, radix,
                           uniform_hat(rule, request.horizon, radix, request.epsilon));
    }
    const int height = digit_system(mechanism, radix).height(request.horizon);
    return {mechanism, radix, height, request.horizon, request.epsilon, {}};
}

/// Up to this epsilon discrete noise is like continuous noise, and hats are better than any tree
/// (tests hold this at many horizons). Above, noise of few integers may favour a tree.
constexpr double kHatsWin = 0.5;

Plan best_of_all(const Request& request) {
    Best best;
    std::optional<Plan> hats;
    try {
        hats = with_levels(request, 0, choose_hat(request.horizon, request.epsilon));
    } catch (const Error&) { // their lattices are too fine for this epsilon: the trees are left
    }
    if (hats && request.epsilon.value() <= kHatsWin && hats->height > 1)
        return *hats;
    for (const Mechanism mechanism : {Mechanism::plain, Mechanism::subtraction})
        search(best, request, mechanism);
    if (hats && (hats->height > 1 || request.horizon > kMaxRadix)) // one level is plain already
        best.offer(*hats);
    return best.plan();
}

} // namespace

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
                "The mechanisms are " + known + "; leave it out to have the best one chosen.");
}

DigitSystem Plan::digits() const {
    return digit_system(mechanism, radix);
}

LaplaceScale Plan::scale(int level) const noexcept {
    if (is_tree())
        return {epsilon, static_cast<uint128>(height)};
    return hat_scale(levels, epsilon, level);
}

double Plan::mse() const {
    if (!is_tree())
        return hat_spec_mse(levels, epsilon) + (is_fractional() ? kRoundingVariance : 0);
    const auto nodes = static_cast<double>(total_nodes(digits(), horizon));
    return scale().variance() * nodes / static_cast<double>(horizon);
}

Plan make_plan(const Request& request) {
    check(request);
    if (request.radix)
        return with_radix(request, *request.radix);
    if (!request.mechanism)
        return best_of_all(request);
    switch (*request.mechanism) {
    case Mechanism::bridge:
        return with_levels(request, 0, choose_bridge(request.horizon, request.epsilon));
    case Mechanism::hat:
        return with_levels(request, 0, choose_hat(request.horizon, request.epsilon));
    case Mechanism::subtraction:
    case Mechanism::plain:
        break;
    }
    Best best;
    search(best, request, *request.mechanism);
    return best.plan();
}

Plan make_epoch_plan(const Request& request, int epoch) {
    Request bounded = request;
    bounded.horizon = epoch_length(epoch);
    const bool hats = request.mechanism.value_or(Mechanism::hat) == Mechanism::hat;
    if (!request.radix && hats) {
        const HatSpec levels = epoch_spec(epoch, request.epsilon);
        if (hat_fits(levels, request.epsilon))
            return with_levels(bounded, 0, levels);
    }
    return make_plan(bounded);
}

} // namespace dp_counter
