#include "core/count/mechanism_cache.hpp"

#include <utility>

namespace dp_counter {

const std::shared_ptr<SamplerCache>& MechanismCache::samplers() {
    if (!samplers_)
        samplers_ = std::make_shared<SamplerCache>();
    return samplers_;
}

const std::shared_ptr<const PreparedMechanism>& MechanismCache::share(const Request& request,
                                                                      int epoch) {
    const auto place =
        static_cast<std::uint64_t>(request.horizon) + static_cast<std::uint64_t>(epoch);
    auto& entry = plans_[place % kPlans];
    if (!entry || !(entry->request == request) || entry->epoch != epoch) {
        auto made =
            std::make_shared<const PreparedMechanism>(make_mechanism(request, epoch), samplers());
        entry.emplace(Entry{request, epoch, std::move(made)});
    }
    return entry->prepared;
}

} // namespace dp_counter
