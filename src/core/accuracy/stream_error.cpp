#include "core/accuracy/stream_error.hpp"

#include <algorithm>

#include "core/base/fixed_point.hpp"
#include "core/count/epochs.hpp"

namespace dp_counter {

StreamError::StreamError(const Request& request, MechanismCache* plans)
    : request_(request), plans_(plans), carried_{0.0} {
    (void)epoch(0);
}

const ReleaseError& StreamError::epoch(int number) {
    while (static_cast<std::size_t>(number) >= epochs_.size()) {
        const int next = static_cast<int>(epochs_.size());
        if (plans_ != nullptr)
            epochs_.emplace_back(plans_->share(request_, next));
        else
            epochs_.emplace_back(make_mechanism(request_, next));
    }
    return epochs_[static_cast<std::size_t>(number)];
}

void StreamError::check(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, request_.horizon == kUnbounded ? kMaxHorizon : request_.horizon);
}

bool StreamError::is_rounded(std::int64_t t) {
    for (int e = epochs_begun(request_.horizon, t) - 1; e >= 0; --e) // what is carried is as well
        if (epoch(e).spec().is_fractional())
            return true;
    return false;
}

template <class Visit>
void StreamError::for_each_epoch(std::int64_t t, std::int64_t since, Visit&& visit) {
    const int begun = epochs_begun(request_.horizon, t);
    for (int e = std::max(0, epochs_begun(request_.horizon, since) - 1); e < begun; ++e)
        visit(epoch(e), steps_of_epoch(request_.horizon, e, t),
              steps_of_epoch(request_.horizon, e, since));
}

double StreamError::carried_variance(int number) {
    while (static_cast<std::size_t>(number) >= carried_.size()) {
        const ReleaseError& last = epoch(static_cast<int>(carried_.size()) - 1);
        carried_.push_back(carried_.back() + last.exact_variance_at(last.spec().horizon));
    }
    return carried_[static_cast<std::size_t>(number)];
}

double StreamError::variance_at(std::int64_t t, std::int64_t since) {
    check(t, since);
    if (t == since)
        return 0;
    double variance =
        (is_rounded(t) ? kRoundingVariance : 0) + (is_rounded(since) ? kRoundingVariance : 0);
    if (since == 0) { // the usual question: what is carried is remembered
        const int last = epochs_begun(request_.horizon, t) - 1;
        return variance + carried_variance(last) +
               epoch(last).exact_variance_at(steps_of_epoch(request_.horizon, last, t));
    }
    for_each_epoch(t, since, [&](const ReleaseError& errors, std::int64_t now, std::int64_t then) {
        variance += errors.exact_variance_at(now, then);
    });
    return variance;
}

NoiseSum StreamError::noise_at(std::int64_t t, std::int64_t since) {
    check(t, since);
    NoiseSum noise;
    for_each_epoch(t, since, [&](const ReleaseError& errors, std::int64_t now, std::int64_t then) {
        noise = sum_of(errors.noise_at(now, then), std::move(noise));
    });
    if (t != since)
        noise.roundings = (is_rounded(t) ? 1 : 0) + (is_rounded(since) ? 1 : 0);
    return noise;
}

NoiseClass StreamError::noise_class(std::int64_t t, std::int64_t since) {
    check(t, since);
    if (epochs_begun(request_.horizon, t) <= 1)
        return epoch(0).noise_class(t, since);
    const std::int64_t radix = request_.radix.value_or(0);
    const int mechanism = request_.mechanism ? static_cast<int>(*request_.mechanism) + 1 : 0;
    const std::int64_t family = (radix << 8 | mechanism) << 1; // even: names of levels are odd
    return {
        request_.unit.epsilon.value(), request_.unit.sensitivity, family, kMaxHeight + 1, t, since};
}

} // namespace dp_counter
