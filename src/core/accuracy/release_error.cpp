#include "core/accuracy/release_error.hpp"

#include <string>

#include "core/base/fixed_point.hpp"
#include "core/count/noise_stream.hpp"
#include "core/hat/hat_variance.hpp"
#include "core/tree/tree_variance.hpp"

namespace dp_counter {

void check_steps(std::int64_t t, std::int64_t since, std::int64_t last) {
    if (t < 0 || t > last)
        throw Error(Fault::parameter,
                    "step must be between 0 and " +
                        std::string(last == kMaxHorizon ? "" : "the horizon of ") +
                        std::to_string(last) + ", not " + std::to_string(t),
                    "step is the number of rows counted so far.");
    if (since < 0 || since > t)
        throw Error(Fault::parameter,
                    "since_step must be between 0 and step, which is " + std::to_string(t) +
                        ", not " + std::to_string(since),
                    "since_step is the number of rows counted at the earlier release.");
}

double ReleaseError::rounding() const noexcept {
    return spec().is_fractional() ? kRoundingVariance : 0;
}

double ReleaseError::variance_at(std::int64_t t) const {
    return exact_variance_at(t) + (t == 0 ? 0 : rounding());
}

double ReleaseError::exact_variance_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, spec().horizon);
    return prepared_->exact_variance_at(t, since);
}

double ReleaseError::max_variance() const {
    if (!spec().is_tree())
        return hat_max_variance(*prepared_->hats(), spec().unit) + rounding();
    return spec().scale().variance() *
           static_cast<double>(max_nodes(spec().digits(), spec().horizon));
}

/// Of what counts whole nodes.
std::int64_t ReleaseError::nodes(std::int64_t t, std::int64_t since) const {
    return spec().is_tree() ? nodes_between(spec().digits(), since, t) : t - since;
}

NoiseSum ReleaseError::noise_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, spec().horizon);
    if (!spec().is_fractional() || t == since) // the noise is symmetric: no sign matters
        return {{{1, spec().scale(), nodes(t, since)}}, 1};
    return noise_at(t, since, 1, 1);
}

NoiseSum ReleaseError::noise_at(std::int64_t t, std::int64_t since, std::int32_t times,
                                std::int32_t by) const {
    NoiseSum sum{{}, int128{1} << 64};
    sum.terms.reserve(512);
    int last_scale = -1;
    for (const auto& [level, node, coefficient] :
         hat_difference(*prepared_->hats(), since, t, times, by)) {
        const int scale = prepared_->hats()->scale_of(level, node);
        if (scale == last_scale && sum.terms.back().coefficient == coefficient)
            ++sum.terms.back().multiplicity;
        else
            sum.terms.push_back({coefficient, spec().scale(scale), 1});
        last_scale = scale;
    }
    return sum;
}

NoiseClass ReleaseError::noise_class(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, spec().horizon);
    const bool whole = !spec().is_fractional();
    return {spec().unit.epsilon.value(),
            spec().unit.sensitivity,
            whole ? 0 : static_cast<std::int64_t>(fingerprint(spec().levels)),
            spec().height,
            whole ? nodes(t, since) : t,
            whole ? 0 : since};
}

std::vector<std::int32_t> ReleaseError::radices() const {
    std::vector<std::int32_t> result;
    if (spec().is_tree())
        result.assign(static_cast<std::size_t>(spec().height), spec().radix);
    else
        for (int l = 0; l + 1 < spec().height; ++l)
            result.push_back(spec().levels.level[l].radix);
    return result;
}

std::size_t ReleaseError::state_bytes() const {
    return NoiseStream::bytes(*prepared_);
}

} // namespace dp_counter
