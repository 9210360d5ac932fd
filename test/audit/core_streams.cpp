#include "audit/core_streams.hpp"

#include <cstdlib>
#include <memory>

#include "core/running_count.hpp"

namespace dp_counter::test {

PreparedPlan prepare(const Plan& plan) {
    std::vector<PreparedPlan::Sampler> samplers;
    for (int level = 0; level < plan.scales(); ++level)
        samplers.push_back(std::make_shared<const DiscreteLaplace>(plan.scale(level)));
    return {plan, std::move(samplers)};
}

Plan with_half_the_noise(const Plan& plan) {
    Plan half = plan;
    half.epsilon = Epsilon(2 * plan.epsilon.value());
    return half;
}

Releases release_streams(const PreparedPlan& prepared, const std::vector<bool>& bits,
                         const std::vector<std::int64_t>& steps, std::size_t runs,
                         RandomSource& random) {
    const std::size_t bytes = (RunningCount::bytes(prepared) + 63) / 64 * 64;
    const std::unique_ptr<void, decltype(&std::free)> block(std::aligned_alloc(64, bytes),
                                                            &std::free);
    Releases releases(steps);
    releases.reserve(runs);
    for (std::size_t run = 0; run < runs; ++run) {
        RunningCount* stream = RunningCount::create(block.get(), prepared);
        auto wanted = steps.begin();
        for (std::size_t t = 1; t <= bits.size() && wanted != steps.end(); ++t) {
            const std::int64_t release = stream->advance(bits[t - 1], random);
            if (static_cast<std::int64_t>(t) == *wanted) {
                releases.add(release);
                ++wanted;
            }
        }
    }
    return releases;
}

} // namespace dp_counter::test
