#include "core/accuracy/forecast.hpp"

#include <bit>
#include <cmath>
#include <new>
#include <string>
#include <type_traits>

#include "core/accuracy/noise_distribution.hpp"

namespace dp_counter {

namespace {

std::size_t hash(const NoiseClass& noise, double confidence) {
    std::uint64_t h = 0;
    for (const std::int64_t word :
         {std::bit_cast<std::int64_t>(noise.epsilon), noise.sensitivity,
          std::bit_cast<std::int64_t>(confidence), noise.family, noise.height}) {
        h = (h ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15U; // Fibonacci hashing
        h ^= h >> 32;
    }
    // Neither neighboring steps collide nor differences of one length, nor any of 362 steps.
    return h + static_cast<std::uint64_t>(noise.index) +
           362 * static_cast<std::uint64_t>(noise.since);
}

template <class Errors>
std::int64_t width_of(Errors& errors, std::int64_t t, double confidence, std::int64_t since) {
    if constexpr (std::is_same_v<Errors, const BoxError>)
        return errors.half_width(t, confidence, since);
    else
        return NoiseDistribution(errors.noise_at(t, since)).half_width(confidence);
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

template <class Known>
Known& Forecast::remembered(std::unique_ptr<Known[], Free>& all, std::size_t count,
                            const NoiseClass& noise, double confidence) {
    if (!all) {
        all.reset(static_cast<Known*>(std::calloc(count, sizeof(Known))));
        if (!all)
            throw std::bad_alloc();
    }
    return all[hash(noise, confidence) % count];
}

template <class Ask>
auto Forecast::ask(const AskedNoise& noise, Ask&& ask) {
    if (const auto* request = std::get_if<Request>(&noise))
        return ask(errors(*request));
    if (const auto* box = std::get_if<BoxError>(&noise))
        return ask(*box);
    if (const auto* law = std::get_if<AnchoredLaw>(&noise)) {
        AnchoredError anchored(*law, errors(law->increments()));
        return ask(anchored);
    }
    if (const auto* bin = std::get_if<AskedBin>(&noise)) {
        BinsError of_bin(*bin, errors(bin->law.totals()));
        return ask(of_bin);
    }
    return ask(std::get<IndependentError>(noise));
}

double Forecast::variance_at(const AskedNoise& noise, std::int64_t t, std::int64_t since) {
    return ask(noise, [&](auto& errors) { return errors.variance_at(t, since); });
}

std::int64_t Forecast::half_width(const AskedNoise& noise, std::int64_t t, double confidence,
                                  std::int64_t since) {
    return ask(noise, [&](auto& errors) {
        const NoiseClass law = errors.noise_class(t, since);
        Width& known = remembered(widths_, kWidths, law, confidence);
        if (!(known.confidence == confidence && known.noise == law))
            known = {law, confidence, width_of(errors, t, confidence, since)};
        return known.width;
    });
}

ShareInterval Forecast::share_interval(const AskedNoise& noise, std::int64_t a, std::int64_t b,
                                       std::int64_t t, double confidence, std::int64_t since) {
    check_confidence(confidence);
    return ask(noise, [&](auto& errors) -> ShareInterval {
        using Errors = std::decay_t<decltype(errors)>;
        constexpr bool is_box = std::is_same_v<Errors, BoxError>;
        constexpr bool is_bins = std::is_same_v<Errors, BinsError>;
        if constexpr (is_box || is_bins || std::is_same_v<Errors, AnchoredError>) {
            const char* name = is_box ? kBoxName : is_bins ? kBinsName : kAnchoredName;
            throw Error(Fault::parameter, "mechanism \"" + std::string(name) + "\" has no averages",
                        is_bins ? "It is the noise of a histogram."
                                : "It is the noise of a counter of persons.");
        } else {
            const NoiseClass law = errors.noise_class(t, since);
            Quantiles& known = remembered(quantiles_, kQuantiles, law, confidence);
            if (!(known.confidence == confidence && known.noise == law))
                known = {law, confidence, {}};
            std::optional<ShareQuantiles> quantiles;
            return dp_counter::share_interval(a, b, [&](int node) {
                double& quantile = known.node[node];
                if (quantile == 0) {
                    if (!quantiles)
                        quantiles.emplace(errors.noise_at(t, since), confidence);
                    quantile = quantiles->at(node);
                }
                return quantile;
            });
        }
    });
}

} // namespace dp_counter
