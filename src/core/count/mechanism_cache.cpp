#include "core/count/mechanism_cache.hpp"

#include <utility>
#include <vector>

#include "core/base/checkpoint.hpp"

namespace dp_counter {

const std::shared_ptr<PreparedPlan>& PlanCache::entry(const Request& request, int epoch) {
    const auto place =
        static_cast<std::uint64_t>(request.horizon) + static_cast<std::uint64_t>(epoch);
    auto& entry = plans_[place % kPlans];
    if (!entry || !(entry->request == request) || entry->epoch != epoch) {
        auto made = std::make_shared<PreparedPlan>(make_plan(request, epoch),
                                                   std::vector<PreparedPlan::Sampler>());
        entry.emplace(Entry{request, epoch, std::move(made)});
    }
    return entry->prepared;
}

const PreparedPlan& PlanCache::prepare(const Request& request, int epoch) {
    PreparedPlan& prepared = *entry(request, epoch);
    if (!prepared.has_samplers()) {
        const Plan& plan = prepared.plan();
        std::vector<PreparedPlan::Sampler> samplers;
        samplers.reserve(static_cast<std::size_t>(plan.scales()));
        for (int level = 0; level < plan.scales(); ++level) {
            checkpoint();
            samplers.push_back(sampler(plan.scale(level)));
        }
        prepared.add_samplers(std::move(samplers));
    }
    return prepared;
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
