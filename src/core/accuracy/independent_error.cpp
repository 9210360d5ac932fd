#include "core/accuracy/independent_error.hpp"

#include "core/base/limits.hpp"

namespace dp_counter {

IndependentError::IndependentError(const PrivacyUnit& unit) : unit_(unit) {
    unit.require_scale(1);
}

double IndependentError::variance_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    return unit_.scale(1).variance() * static_cast<double>(t - since);
}

NoiseSum IndependentError::noise_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    return {{{1, unit_.scale(1), t - since}}};
}

NoiseClass IndependentError::noise_class(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    // That of a tree without levels above the steps, whose releases have equal noise.
    return {unit_.epsilon.value(), unit_.sensitivity, 0, 1, t - since, 0};
}

} // namespace dp_counter
