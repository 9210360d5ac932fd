#include "core/plan_cache.hpp"

#include <utility>
#include <vector>

#include "core/checkpoint.hpp"

namespace dp_counter {

const PreparedPlan& PlanCache::prepare(const Request& request, int epoch) {
    const auto place =
        static_cast<std::uint64_t>(request.horizon) + static_cast<std::uint64_t>(epoch);
    auto& entry = plans_[place % kPlans];
    if (!entry || !(entry->request == request) || entry->epoch != epoch) {
        const Plan plan =
            request.horizon == kUnbounded ? make_epoch_plan(request, epoch) : make_plan(request);
        std::vector<PreparedPlan::Sampler> samplers;
        samplers.reserve(static_cast<std::size_t>(plan.scales()));
        for (int level = 0; level < plan.scales(); ++level) {
            checkpoint();
            samplers.push_back(sampler(plan.scale(level)));
        }
        entry.emplace(Entry{request, epoch, PreparedPlan(plan, std::move(samplers))});
    }
    return entry->prepared;
}

PreparedPlan::Sampler PlanCache::sampler(const LaplaceScale& scale) {
    for (const PreparedPlan::Sampler& known : samplers_)
        if (known && known->scale() == scale)
            return known;
    PreparedPlan::Sampler made = std::make_shared<const DiscreteLaplace>(scale);
    samplers_[oldest_sampler_] = made;
    oldest_sampler_ = (oldest_sampler_ + 1) % kSamplers;
    return made;
}

} // namespace dp_counter
