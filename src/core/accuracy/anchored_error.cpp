#include "core/accuracy/anchored_error.hpp"

#include "core/base/limits.hpp"

namespace dp_counter {

bool AnchoredError::is_one_block(std::int64_t t, std::int64_t since) const {
    return since != 0 && (t - 1) / law_.block == (since - 1) / law_.block;
}

double AnchoredError::variance_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    if (t == since)
        return 0;
    if (is_one_block(t, since))
        return increments_.variance_at(law_.increments_at(t), law_.increments_at(since));
    const auto release = [&](std::int64_t step) {
        return step == 0
                   ? 0
                   : law_.anchor().variance() + increments_.variance_at(law_.increments_at(step));
    };
    return release(t) + release(since);
}

NoiseSum AnchoredError::noise_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    if (t == since)
        return {};
    if (is_one_block(t, since))
        return increments_.noise_at(law_.increments_at(t), law_.increments_at(since));
    NoiseSum noise{{{1, law_.anchor(), since == 0 ? 1 : 2}}};
    for (const std::int64_t step : {t, since}) // the noise is symmetric: no sign matters
        if (step != 0)
            noise = sum_of(increments_.noise_at(law_.increments_at(step)), std::move(noise));
    return noise;
}

NoiseClass AnchoredError::noise_class(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    // No stream is as high, nor box noise.
    const auto place = [&](std::int64_t step) {
        return step == 0 ? 0 : law_.increments_at(step) + 1;
    };
    const bool is_far = since != 0 && !is_one_block(t, since);
    return {law_.unit.epsilon.value(),
            law_.unit.sensitivity,
            law_.block,
            kMaxHeight + 3,
            place(t),
            place(since) + (is_far ? law_.block : 0)};
}

} // namespace dp_counter
