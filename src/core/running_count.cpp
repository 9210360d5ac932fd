#include "core/running_count.hpp"

#include <cstring>
#include <new>
#include <string>

namespace dp_counter {

namespace {

std::size_t aligned(std::size_t bytes) {
    return (bytes + RunningCount::kAlignment - 1) / RunningCount::kAlignment *
           RunningCount::kAlignment;
}

} // namespace

void Progress::throw_beyond(std::int64_t horizon) {
    throw Error(Fault::data, "more rows than the horizon of " + std::to_string(horizon),
                "Declare a horizon that is at least the number of rows of every partition.");
}

std::size_t RunningCount::bytes(const Plan& plan, const DiscreteLaplace& sampler) {
    return sampler_offset() + aligned(sampler.bytes()) +
           TreeNoise::bytes(plan.digits(), plan.height);
}

RunningCount* RunningCount::create(void* block, const Plan& plan, const DiscreteLaplace& sampler) {
    auto* stream = new (block) RunningCount;
    stream->progress_ = {0, 0};
    stream->horizon_ = plan.horizon;
    stream->noise_offset_ = sampler_offset() + aligned(sampler.bytes());
    char* base = static_cast<char*>(block);
    std::memcpy(base + sampler_offset(), static_cast<const void*>(&sampler), sampler.bytes());
    TreeNoise::create(base + stream->noise_offset_, plan.digits(), plan.height);
    return stream;
}

std::int64_t release_last(const Plan& plan, const Progress& progress,
                          const DiscreteLaplace& sampler, RandomSource& random) {
    const std::int64_t noise = TreeNoise::sample(plan.digits(), plan.height, progress.step,
                                                 [&] { return sampler.draw(random); });
    return checked_add(progress.count, noise);
}

} // namespace dp_counter
