// Samplers that have been set up: many mechanisms draw from the same scales.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "core/base/checkpoint.hpp"
#include "core/noise/discrete_laplace.hpp"

namespace dp_counter {

/// Remembers the last samplers; public values alone.
class SamplerCache {
public:
    using Sampler = std::shared_ptr<const DiscreteLaplace>;

    /// One of this scale, to keep. Throws as DiscreteLaplace does.
    [[nodiscard]] Sampler sampler(const LaplaceScale& scale) {
        for (const Sampler& known : samplers_)
            if (known && known->scale() == scale)
                return known;
        checkpoint();
        Sampler made = std::make_shared<const DiscreteLaplace>(scale);
        samplers_[oldest_] = made;
        oldest_ = (oldest_ + 1) % samplers_.size();
        return made;
    }

private:
    std::array<Sampler, 128> samplers_;
    std::size_t oldest_ = 0;
};

} // namespace dp_counter
