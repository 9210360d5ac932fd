#include "core/count/prepared_mechanism.hpp"

#include <cmath>
#include <utility>

#include "core/hat/hat_variance.hpp"
#include "core/tree/tree_variance.hpp"

namespace dp_counter {

PreparedMechanism::PreparedMechanism(const MechanismSpec& spec,
                                     std::shared_ptr<SamplerCache> samplers)
    : spec_(spec), cache_(std::move(samplers)), samplers_(static_cast<std::size_t>(spec.scales())) {
    if (spec_.is_tree()) {
        node_variances_.push_back(spec_.scale().variance());
        return;
    }
    node_variances_ = hat_node_variances(spec_.levels, spec_.unit);
    weights_.emplace(spec_.levels);
}

double PreparedMechanism::exact_variance_at(std::int64_t t, std::int64_t since) const {
    if (t == since)
        return 0;
    if (!spec_.is_fractional()) {
        const std::int64_t nodes =
            spec_.is_tree() ? nodes_between(spec_.digits(), since, t) : t - since;
        return node_variances_[0] * static_cast<double>(nodes);
    }
    if (since == 0)
        return hat_row_norms_at(*hats(), t, node_variances_).variance(node_variances_);
    double variance = 0;
    for (const HatTerm& term : hat_difference(*hats(), since, t)) {
        const double weight = std::ldexp(static_cast<double>(term.coefficient),
                                         spec_.levels.lattice_bits * term.level - 64);
        const int scale = hats()->scale_of(term.level, term.node);
        variance += weight * weight * node_variances_[static_cast<std::size_t>(scale)];
    }
    return variance;
}

} // namespace dp_counter
