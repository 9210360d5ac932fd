// A mechanism with everything that can be computed before the first row.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/count/mechanism_spec.hpp"
#include "core/hat/hat_weights.hpp"
#include "core/noise/discrete_laplace.hpp"

namespace dp_counter {

/// A mechanism, the samplers of its levels and, for bridge and hat, the tables of its weights: what
/// the noise is made of and what its errors are computed from. Public values alone, shared by all
/// streams of one shape. Making one takes from some ten microseconds to some milliseconds (horizons
/// near 1e9); see mechanism_cache.hpp.
class PreparedMechanism {
public:
    using Sampler = std::shared_ptr<const DiscreteLaplace>;

    /// samplers[l] serves spec.scale(l), l = 0 .. spec.scales() - 1. Without any no noise can be
    /// drawn, but its errors can be told; they may be added later.
    PreparedMechanism(const MechanismSpec& spec, std::vector<Sampler> samplers);
    void add_samplers(std::vector<Sampler> samplers) noexcept { samplers_ = std::move(samplers); }

    /// With samplers of its own. Throws Error (parameter) where a scale is too large.
    explicit PreparedMechanism(const MechanismSpec& spec);

    [[nodiscard]] const MechanismSpec& spec() const noexcept { return spec_; }
    [[nodiscard]] bool has_samplers() const noexcept { return !samplers_.empty(); }
    [[nodiscard]] const DiscreteLaplace& sampler(int level) const noexcept {
        return *samplers_[spec_.is_tree() ? 0 : static_cast<std::size_t>(level)];
    }

    /// The variance of the noise at step t less that at step `since`, 0 <= since <= t <= horizon,
    /// before either is rounded. For since = 0, where there is no noise, in 0.1 microseconds for
    /// trees, up to 1 for bridge and hat; else up to 10.
    [[nodiscard]] double exact_variance_at(std::int64_t t, std::int64_t since = 0) const;

    /// Null for the paper's mechanisms.
    [[nodiscard]] const HatWeights* hats() const noexcept {
        return reinterpret_cast<const HatWeights*>(tables_.get());
    }

private:
    MechanismSpec spec_;
    std::vector<Sampler> samplers_;
    std::vector<double> node_variances_; ///< by scale
    std::unique_ptr<std::uint64_t[]> tables_;
};

} // namespace dp_counter
