#include "core/count/prepared_mechanism.hpp"

#include <cmath>
#include <utility>

#include "core/hat/hat_variance.hpp"
#include "core/tree/tree_variance.hpp"

namespace dp_counter {

namespace {

std::vector<PreparedMechanism::Sampler> make_samplers(const MechanismSpec& spec) {
    std::vector<PreparedMechanism::Sampler> samplers;
    samplers.reserve(static_cast<std::size_t>(spec.scales()));
    for (int level = 0; level < spec.scales(); ++level)
        samplers.push_back(std::make_shared<const DiscreteLaplace>(spec.scale(level)));
    return samplers;
}

} // namespace

PreparedMechanism::PreparedMechanism(const MechanismSpec& spec)
    : PreparedMechanism(spec, make_samplers(spec)) {}

double PreparedMechanism::exact_variance_at(std::int64_t t, std::int64_t since) const {
    if (t == since)
        return 0;
    if (!spec_.is_fractional()) {
        const std::int64_t nodes =
            spec_.is_tree() ? nodes_between(spec_.digits(), since, t) : t - since;
        return node_variances_[0] * static_cast<double>(nodes);
    }
    if (since == 0)
        return hat_row_norms_at(*hats(), t).variance(node_variances_);
    HatRowNorms energy{};
    for (const HatTerm& term : hat_difference(*hats(), since, t)) {
        const double weight = std::ldexp(static_cast<double>(term.coefficient),
                                         spec_.levels.lattice_bits * term.level - 64);
        energy.level[term.level] += weight * weight;
    }
    return energy.variance(node_variances_);
}

PreparedMechanism::PreparedMechanism(const MechanismSpec& spec, std::vector<Sampler> samplers)
    : spec_(spec), samplers_(std::move(samplers)) {
    for (int level = 0; level < spec_.scales(); ++level)
        node_variances_.push_back(spec_.is_tree()
                                      ? spec_.scale().variance()
                                      : hat_node_variance(spec_.levels, spec_.unit, level));
    if (spec_.is_tree())
        return;
    tables_ = std::make_unique<std::uint64_t[]>((HatWeights::bytes(spec_.levels) + 7) / 8);
    HatWeights::create(tables_.get(), spec_.levels);
}

} // namespace dp_counter
