#include "core/accuracy/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/accuracy/noise_distribution.hpp"
#include "core/base/bit_copy.hpp"
#include "core/count/epochs.hpp"

namespace dp_counter {

namespace {

std::size_t hash(const NoiseClass& noise, double confidence) {
    std::uint64_t h = 0;
    for (const std::uint64_t word :
         {bit_copy<std::uint64_t>(noise.epsilon), static_cast<std::uint64_t>(noise.sensitivity),
          bit_copy<std::uint64_t>(confidence), noise.family, noise.height}) {
        h = (h ^ word) * 0x9e3779b97f4a7c15U; // Fibonacci hashing
        h ^= h >> 32;
    }
    // Neither neighbouring steps collide nor differences of one length, nor any of 362 steps.
    return static_cast<std::size_t>(h + noise.index + 362 * noise.since);
}

} // namespace

Forecast::Entry& Forecast::entry(const Request& request) {
    auto& entry = plans_[static_cast<std::size_t>(request.horizon) % kPlans];
    if (!entry || !(entry->request == request))
        entry.emplace(Entry{request, StreamError(request, &cache_), {}});
    return *entry;
}

StreamError& Forecast::errors(const Request& request) {
    return entry(request).errors;
}

ForecastReport report_of(StreamError& errors, int epoch) {
    const ReleaseError& own = errors.epoch(epoch);
    const double carried = errors.carried_variance(epoch);
    const double mse = carried + own.mse();
    return {own.radices(),
            own.spec().scale().value(),
            mse,
            std::sqrt(mse),
            std::sqrt(carried + own.max_variance()),
            own.state_bytes()};
}

const ForecastReport& Forecast::report(const Request& request, int epoch) {
    Entry& found = entry(request);
    const auto index = static_cast<std::size_t>(epoch);
    if (index >= found.reports.size())
        found.reports.resize(index + 1);
    std::optional<ForecastReport>& report = found.reports[index];
    if (!report)
        report = report_of(found.errors, epoch);
    return *report;
}

std::optional<std::int64_t> Forecast::hat_width(const Request& request, std::int64_t t,
                                                double confidence) {
    if (!(t > 0 && t <= (request.horizon == kUnbounded ? kMaxHorizon : request.horizon) &&
          confidence > 0 && confidence <= NoiseDistribution::kMaxConfidence))
        return {};
    const int epoch = epochs_begun(request.horizon, t) - 1;
    StreamError& errors = this->errors(request);
    const ReleaseError& own = errors.epoch(epoch);
    const HatWeights* const weights = own.weights();
    if (weights == nullptr)
        return {};
    const auto found = std::find_if(hats_.begin(), hats_.end(), [&](const auto& hat) {
        return hat && hat->confidence == confidence && hat->epoch == epoch &&
               hat->request == request;
    });
    std::optional<Hat>& hat = found != hats_.end() ? *found : hats_[next_hat_];
    if (found == hats_.end()) {
        const NoiseSum carried = errors.noise_at(epoch == 0 ? 0 : epoch_begin(epoch));
        hat = Hat{request, epoch, confidence,
                  HatWidths(*weights, own.spec().unit, carried, confidence)};
        next_hat_ = (next_hat_ + 1) % kHats;
    }
    return hat->widths.at(*weights, steps_of_epoch(request.horizon, epoch, t));
}

std::int64_t Forecast::half_width(const Request& request, std::int64_t t, double confidence,
                                  std::int64_t since) {
    const bool is_kept =
        request.horizon != kUnbounded && static_cast<std::uint64_t>(request.horizon) <= kWidths;
    std::optional<std::int64_t> width;
    if (since == 0 && !is_kept && (width = hat_width(request, t, confidence)))
        return *width;
    StreamError& release = errors(request);
    const NoiseClass noise = release.noise_class(t, since);
    if (!widths_) { // pages that are not asked for take no memory
        widths_.reset(static_cast<Width*>(std::calloc(kWidths, sizeof(Width))));
        if (!widths_)
            throw std::bad_alloc();
    }
    Width& known = widths_[hash(noise, confidence) % kWidths];
    if (!(known.confidence == confidence && known.noise == noise)) {
        if (since == 0 && is_kept)
            width = hat_width(request, t, confidence);
        if (!width)
            width = release.half_width(t, confidence, since);
        known = {noise, confidence, *width};
    }
    return known.width;
}

} // namespace dp_counter
