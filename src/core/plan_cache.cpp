#include "core/plan_cache.hpp"

namespace dp_counter {

const Plan& PlanCache::plan(const Request& request) {
    auto& entry = plans_[static_cast<std::size_t>(request.horizon) % kPlans];
    if (!entry || !(entry->request == request))
        entry.emplace(PlanEntry{request, make_plan(request)});
    return entry->plan;
}

const DiscreteLaplace& PlanCache::sampler(const LaplaceScale& scale) {
    for (const auto& entry : samplers_)
        if (entry && entry->scale() == scale)
            return *entry;
    auto& entry = samplers_[oldest_sampler_];
    entry.emplace(scale); // on a throw the entry is empty and stays the next to be filled
    oldest_sampler_ = (oldest_sampler_ + 1) % kSamplers;
    return *entry;
}

} // namespace dp_counter
