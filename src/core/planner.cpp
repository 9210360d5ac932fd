#include "core/planner.hpp"

#include <cmath>

#include "core/weighted_laplace.hpp"

namespace dp_counter {

namespace {

std::size_t hash(const NoiseClass& noise, double confidence) {
    std::uint64_t h = 0;
    for (const std::uint64_t word :
         {bit_pattern(noise.epsilon), bit_pattern(confidence),
          noise.family, noise.height}) {
        h = (h ^ word) * 0x9e3779b97f4a7c15U; // Fibonacci hashing
        h ^= h >> 32;
    }
    return static_cast<std::size_t>(h + noise.index); // neighbouring steps never collide
}

} // namespace

Planner::Entry& Planner::entry(const Request& request) {
    auto& entry = plans_[static_cast<std::size_t>(request.horizon) % kPlans];
    if (!entry || !(entry->request == request))
        entry.emplace(Entry{request, ReleaseError(make_plan(request)), {}});
    return *entry;
}

const ReleaseError& Planner::errors(const Request& request) {
    return entry(request).errors;
}

const PlanReport& Planner::report(const Request& request) {
    Entry& found = entry(request);
    if (!found.report) {
        const ReleaseError& errors = found.errors;
        const double mse = errors.mse();
        found.report =
            PlanReport{errors.radices(), errors.plan().scale().value(),    mse,
                       std::sqrt(mse),   std::sqrt(errors.max_variance()), errors.state_bytes()};
    }
    return *found.report;
}

std::int64_t Planner::half_width(const Request& request, std::int64_t t, double confidence) {
    const ReleaseError& release = errors(request);
    const NoiseClass noise = release.noise_class(t);
    if (widths_.empty())
        widths_.resize(kWidths);
    Width& known = widths_[hash(noise, confidence) % kWidths];
    if (!(known.confidence == confidence && known.noise == noise)) {
        const std::int64_t width = WeightedLaplace(release.noise_at(t)).half_width(confidence);
        known = {noise, confidence, width};
    }
    return known.width;
}

} // namespace dp_counter
