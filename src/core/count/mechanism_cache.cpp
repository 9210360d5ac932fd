#include "core/count/mechanism_cache.hpp"

#include <utility>
#include <vector>

#include "core/base/checkpoint.hpp"

namespace dp_counter {

const std::shared_ptr<PreparedMechanism>& MechanismCache::entry(const Request& request, int epoch) {
    const auto place =
        static_cast<std::uint64_t>(request.horizon) + static_cast<std::uint64_t>(epoch);
    auto& entry = plans_[place % kPlans];
    if (!entry || !(entry->request == request) || entry->epoch != epoch) {
        auto made = std::make_shared<PreparedMechanism>(make_mechanism(request, epoch),
                                                        std::vector<PreparedMechanism::Sampler>());
        entry.emplace(Entry{request, epoch, std::move(made)});
    }
    return entry->prepared;
}

const std::shared_ptr<PreparedMechanism>& MechanismCache::prepared_entry(const Request& request,
                                                                         int epoch) {
    const std::shared_ptr<PreparedMechanism>& prepared = entry(request, epoch);
    if (!prepared->has_samplers()) {
        const MechanismSpec& spec = prepared->spec();
        std::vector<PreparedMechanism::Sampler> samplers;
        samplers.reserve(static_cast<std::size_t>(spec.scales()));
        for (int level = 0; level < spec.scales(); ++level) {
            checkpoint();
            samplers.push_back(sampler(spec.scale(level)));
        }
        prepared->add_samplers(std::move(samplers));
    }
    return prepared;
}

PreparedMechanism::Sampler MechanismCache::sampler(const LaplaceScale& scale) {
    for (const PreparedMechanism::Sampler& known : samplers_)
        if (known && known->scale() == scale)
            return known;
    PreparedMechanism::Sampler made = std::make_shared<const DiscreteLaplace>(scale);
    samplers_[oldest_sampler_] = made;
    oldest_sampler_ = (oldest_sampler_ + 1) % kSamplers;
    return made;
}

} // namespace dp_counter
