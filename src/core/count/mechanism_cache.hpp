// Remembers prepared mechanisms and samplers: many partitions ask for the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "core/count/prepared_mechanism.hpp"

namespace dp_counter {

/// A cache of public values, for streams and for the planner. It holds a fixed number of entries;
/// the largest, for horizons near 1e9, take some 100 kB.
class MechanismCache {
public:
    /// The prepared mechanism of make_mechanism(request, epoch). Throws as that does. The reference
    /// is good until the next call.
    [[nodiscard]] const PreparedMechanism& prepare(const Request& request, int epoch = 0) {
        return *share(request, epoch);
    }

    /// The same to keep.
    [[nodiscard]] const std::shared_ptr<const PreparedMechanism>& share(const Request& request,
                                                                        int epoch = 0);

    /// A sampler of this scale.
    [[nodiscard]] SamplerCache::Sampler sampler(const LaplaceScale& scale) {
        return samplers()->sampler(scale);
    }

private:
    struct Entry {
        Request request;
        int epoch;
        std::shared_ptr<const PreparedMechanism> prepared;
    };

    static constexpr std::size_t kPlans = 128;

    const std::shared_ptr<SamplerCache>& samplers();

    std::array<std::optional<Entry>, kPlans> plans_; ///< found by the horizon or the epoch
    std::shared_ptr<SamplerCache> samplers_;         ///< null: none has been asked for
};

} // namespace dp_counter
