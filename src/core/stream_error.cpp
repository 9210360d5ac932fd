#include "core/stream_error.hpp"

#include <algorithm>
#include <string>

#include "core/epochs.hpp"
#include "core/exact_noise.hpp"
#include "core/weighted_laplace.hpp"

namespace dp_counter {

StreamError::StreamError(const Request& request) : request_(request), carried_{0.0} {
    (void)epoch(0);
}

const ReleaseError& StreamError::epoch(int number) {
    while (static_cast<std::size_t>(number) >= epochs_.size()) {
        const int next = static_cast<int>(epochs_.size());
        epochs_.emplace_back(request_.horizon == kUnbounded ? make_epoch_plan(request_, next)
                                                            : make_plan(request_));
    }
    return epochs_[static_cast<std::size_t>(number)];
}

StreamError::Place StreamError::place_of(std::int64_t t) const {
    if (request_.horizon != kUnbounded || t == 0)
        return {0, t};
    if (t < 0 || t > kMaxHorizon)
        throw Error(Fault::parameter,
                    "t must be between 0 and " + std::to_string(kMaxHorizon) + ", not " +
                        std::to_string(t),
                    "t is the number of rows counted so far.");
    const int number = epoch_of(t);
    return {number, t - epoch_begin(number)};
}

double StreamError::carried_variance(int number) {
    while (static_cast<std::size_t>(number) >= carried_.size()) {
        const ReleaseError& last = epoch(static_cast<int>(carried_.size()) - 1);
        carried_.push_back(carried_.back() + last.exact_variance_at(last.plan().horizon));
    }
    return carried_[static_cast<std::size_t>(number)];
}

double StreamError::variance_at(std::int64_t t) {
    const Place place = place_of(t);
    const double exact =
        carried_variance(place.epoch) + epoch(place.epoch).exact_variance_at(place.step);
    return exact + (t > 0 && epoch(place.epoch).plan().is_fractional() ? kRoundingVariance : 0);
}

namespace {

/// The sum of independent noises.
NoiseSum sum_of(NoiseSum a, NoiseSum b) {
    if (a.denominator != b.denominator) { // one of them counts whole numbers
        NoiseSum& coarse = a.denominator == 1 ? a : b;
        const NoiseSum& fine = a.denominator == 1 ? b : a;
        for (NoiseTerm& term : coarse.terms)
            term.coefficient *= fine.denominator;
        coarse.denominator = fine.denominator;
    }
    a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
    return a;
}

} // namespace

std::int64_t StreamError::half_width(std::int64_t t, double confidence) {
    const Place place = place_of(t);
    NoiseSum noise = epoch(place.epoch).noise_at(place.step);
    for (int closed = 0; closed < place.epoch; ++closed)
        noise = sum_of(std::move(noise), epoch(closed).noise_at(epoch(closed).plan().horizon));
    return WeightedLaplace(noise).half_width(confidence);
}

NoiseClass StreamError::noise_class(std::int64_t t) {
    const Place place = place_of(t);
    if (request_.horizon != kUnbounded || place.epoch == 0)
        return epoch(0).noise_class(t);
    const auto radix = static_cast<std::uint64_t>(request_.radix.value_or(0));
    const auto mechanism =
        request_.mechanism ? static_cast<std::uint64_t>(*request_.mechanism) + 1 : 0;
    const std::uint64_t family = (radix << 8 | mechanism) << 1; // even: hashes of levels are odd
    return {request_.epsilon.value(), family, kMaxHeight + 1, static_cast<std::uint64_t>(t)};
}

} // namespace dp_counter
