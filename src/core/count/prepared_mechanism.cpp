#include "core/count/prepared_mechanism.hpp"

#include <cmath>
#include <utility>

#include "core/hat/hat_variance.hpp"
#include "core/tree/tree_variance.hpp"

namespace dp_counter {

namespace {

std::vector<PreparedPlan::Sampler> make_samplers(const Plan& plan) {
    std::vector<PreparedPlan::Sampler> samplers;
    samplers.reserve(static_cast<std::size_t>(plan.scales()));
    for (int level = 0; level < plan.scales(); ++level)
        samplers.push_back(std::make_shared<const DiscreteLaplace>(plan.scale(level)));
    return samplers;
}

} // namespace

PreparedPlan::PreparedPlan(const Plan& plan) : PreparedPlan(plan, make_samplers(plan)) {}

double PreparedPlan::exact_variance_at(std::int64_t t, std::int64_t since) const {
    if (t == since)
        return 0;
    if (!plan_.is_fractional()) {
        const std::int64_t nodes =
            plan_.is_tree() ? nodes_between(plan_.digits(), since, t) : t - since;
        return node_variances_[0] * static_cast<double>(nodes);
    }
    if (since == 0)
        return hat_energy_at(*hats(), t).variance(node_variances_);
    HatEnergy energy{};
    for (const HatTerm& term : hat_difference(*hats(), since, t)) {
        const double weight = std::ldexp(static_cast<double>(term.coefficient),
                                         plan_.levels.lattice_bits * term.level - 64);
        energy.level[term.level] += weight * weight;
    }
    return energy.variance(node_variances_);
}

PreparedPlan::PreparedPlan(const Plan& plan, std::vector<Sampler> samplers)
    : plan_(plan), samplers_(std::move(samplers)) {
    for (int level = 0; level < plan_.scales(); ++level)
        node_variances_.push_back(plan_.is_tree()
                                      ? plan_.scale().variance()
                                      : hat_node_variance(plan_.levels, plan_.unit, level));
    if (plan_.is_tree())
        return;
    tables_bytes_ = HatPlan::bytes(plan_.levels);
    tables_ = std::make_unique<std::uint64_t[]>((tables_bytes_ + 7) / 8);
    HatPlan::create(tables_.get(), plan_.levels);
}

} // namespace dp_counter
