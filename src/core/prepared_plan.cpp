#include "core/prepared_plan.hpp"

#include <utility>

#include "core/hat_error.hpp"
#include "core/tree_error.hpp"

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

double PreparedPlan::exact_variance_at(std::int64_t t) const {
    if (t == 0)
        return 0;
    if (!plan_.is_tree())
        return hat_variance_at(*hats(), plan_.epsilon, t);
    return plan_.scale().variance() * static_cast<double>(nodes_at(plan_.digits(), t));
}

PreparedPlan::PreparedPlan(const Plan& plan, std::vector<Sampler> samplers)
    : plan_(plan), samplers_(std::move(samplers)) {
    if (plan_.is_tree())
        return;
    tables_bytes_ = HatPlan::bytes(plan_.levels);
    tables_ = std::make_unique<std::uint64_t[]>((tables_bytes_ + 7) / 8);
    HatPlan::create(tables_.get(), plan_.levels);
}

} // namespace dp_counter
