#include "core/release_error.hpp"

#include <memory>
#include <string>
#include <utility>

#include "core/checkpoint.hpp"
#include "core/hat_choice.hpp"
#include "core/hat_error.hpp"
#include "core/noise_stream.hpp"
#include "core/prepared_plan.hpp"
#include "core/tree_error.hpp"

namespace dp_counter {

namespace {

/// A 64-bit hash of the levels: collisions among the plans of one session are out of the question.
std::uint64_t hash_levels(const HatSpec& spec) {
    std::uint64_t h = static_cast<std::uint64_t>(spec.rule) + 1;
    const auto add = [&h](std::int64_t word) {
        h = (h ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15U;
        h ^= h >> 29;
    };
    add(spec.lattice_bits);
    add(spec.horizon);
    for (int l = 0; l + 1 < spec.height; ++l) {
        add(spec.level[l].radix);
        add(spec.level[l].offset);
        add(spec.level[l].knots);
    }
    return h | 1; // never 0
}

} // namespace

ReleaseError::ReleaseError(const Plan& plan) : plan_(plan) {
    if (plan.is_tree() || plan.height == 1)
        return;
    hats_.emplace(plan.levels);
    for (int level = 0; level < plan.height; ++level)
        node_variances_.push_back(hat_node_variance(plan.levels, plan.epsilon, level));
    family_ = hash_levels(plan.levels);
}

void ReleaseError::check(std::int64_t t) const {
    if (t < 0 || t > plan_.horizon)
        throw Error(Fault::parameter,
                    "t must be between 0 and the horizon of " + std::to_string(plan_.horizon) +
                        ", not " + std::to_string(t),
                    "t is the number of rows counted so far.");
}

double ReleaseError::rounding() const noexcept {
    return plan_.is_fractional() ? kRoundingVariance : 0;
}

double ReleaseError::variance_at(std::int64_t t) const {
    return exact_variance_at(t) + (t == 0 ? 0 : rounding());
}

double ReleaseError::exact_variance_at(std::int64_t t) const {
    check(t);
    if (t == 0)
        return 0;
    if (hats_)
        return hat_energy_at(hats_->get(), t).variance(node_variances_);
    const std::int64_t nodes = plan_.is_tree() ? nodes_at(plan_.digits(), t) : t;
    return plan_.scale().variance() * static_cast<double>(nodes);
}

double ReleaseError::mse() const {
    return plan_.mse();
}

double ReleaseError::max_variance() const {
    if (hats_)
        return hat_max_variance(hats_->get(), plan_.epsilon) + rounding();
    const std::int64_t nodes =
        plan_.is_tree() ? max_nodes(plan_.digits(), plan_.horizon) : plan_.horizon;
    return plan_.scale().variance() * static_cast<double>(nodes);
}

NoiseSum ReleaseError::noise_at(std::int64_t t) const {
    check(t);
    if (hats_ && t > 0) {
        NoiseSum sum{{}, int128{1} << 64};
        sum.terms.reserve(512);
        int last_level = -1;
        hat_weights(hats_->get(), t, [&](int level, std::int64_t, int128 coefficient) {
            if (level == last_level && sum.terms.back().coefficient == coefficient)
                ++sum.terms.back().multiplicity;
            else
                sum.terms.push_back({coefficient, plan_.scale(level), 1});
            last_level = level;
        });
        return sum;
    }
    // The signs of subtracted nodes do not matter: the noise is symmetric.
    const std::int64_t nodes = plan_.is_tree() ? nodes_at(plan_.digits(), t) : t;
    return {{{1, plan_.scale(), nodes}}, 1};
}

NoiseClass ReleaseError::noise_class(std::int64_t t) const {
    check(t);
    const std::int64_t index = plan_.is_tree() ? nodes_at(plan_.digits(), t) : t;
    return {plan_.epsilon.value(), family_, static_cast<std::uint64_t>(plan_.height),
            static_cast<std::uint64_t>(index)};
}

std::vector<std::int32_t> ReleaseError::radices() const {
    std::vector<std::int32_t> result;
    if (plan_.is_tree())
        result.assign(static_cast<std::size_t>(plan_.height), plan_.radix);
    else
        for (int l = 0; l + 1 < plan_.height; ++l)
            result.push_back(plan_.levels.level[l].radix);
    return result;
}

std::size_t ReleaseError::state_bytes() const {
    std::vector<PreparedPlan::Sampler> samplers;
    samplers.reserve(static_cast<std::size_t>(plan_.scales()));
    for (int level = 0; level < plan_.scales(); ++level) {
        checkpoint();
        samplers.push_back(std::make_shared<const DiscreteLaplace>(plan_.scale(level)));
    }
    return NoiseStream::bytes(PreparedPlan(plan_, std::move(samplers)));
}

} // namespace dp_counter
