// A mechanism with everything that can be computed before the first row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/count/mechanism_spec.hpp"
#include "core/hat/hat_weights.hpp"
#include "core/noise/sampler_cache.hpp"

namespace dp_counter {

/// A mechanism, the samplers of its nodes and, for hats, the tables of its weights: what
/// the noise is made of and what its errors are computed from. Public values alone, shared by all
/// streams of one shape. Making one takes some microseconds; samplers and rows of weights are made
/// when a stream comes to them, all in up to some 100 (horizons near 1e9). See mechanism_cache.hpp.
class PreparedMechanism {
public:
    /// With samplers of a cache, or of its own.
    explicit PreparedMechanism(const MechanismSpec& spec, std::shared_ptr<SamplerCache> samplers =
                                                              std::make_shared<SamplerCache>());

    [[nodiscard]] const MechanismSpec& spec() const noexcept { return spec_; }

    /// That of spec().scale(scale). It is set up when it is first asked for, in some ten
    /// microseconds: a short stream never comes to most of a long one's. Throws bad_alloc.
    [[nodiscard]] const DiscreteLaplace& sampler(int scale) const {
        SamplerCache::Sampler& known =
            samplers_[spec_.is_tree() ? 0 : static_cast<std::size_t>(scale)];
        if (!known) [[unlikely]]
            known = cache_->sampler(spec_.scale(scale));
        return *known;
    }

    /// The variance of the noise at step t less that at step `since`, 0 <= since <= t <= horizon,
    /// before either is rounded. For since = 0, where there is no noise, in 0.1 microseconds for
    /// trees, up to 1 for hats; else up to 10.
    [[nodiscard]] double exact_variance_at(std::int64_t t, std::int64_t since = 0) const;

    /// Null for the paper's mechanisms.
    [[nodiscard]] const HatWeights* hats() const noexcept {
        return weights_ ? &weights_->get() : nullptr;
    }

private:
    MechanismSpec spec_;
    std::shared_ptr<SamplerCache> cache_;
    mutable std::vector<SamplerCache::Sampler> samplers_; ///< null: not yet asked for
    std::vector<double> node_variances_;                  ///< by scale
    std::optional<HatWeightsBlock> weights_;
};

} // namespace dp_counter
