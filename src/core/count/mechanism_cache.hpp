// Remembers prepared mechanisms and samplers: many partitions ask for the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "core/count/prepared_mechanism.hpp"

namespace dp_counter {

/// A cache of public values, for streams and for what is told of them. It holds a fixed number of
/// entries; the largest, for horizons near 1e9, take some 100 kB.
class MechanismCache {
public:
    /// The prepared mechanism of make_mechanism(request, epoch). Throws as that does. The reference
    /// is good until the next call.
    [[nodiscard]] const PreparedMechanism& prepare(const Request& request, int epoch = 0) {
        return *prepared_entry(request, epoch);
    }

    /// The same to keep.
    [[nodiscard]] std::shared_ptr<const PreparedMechanism> share(const Request& request,
                                                                 int epoch = 0) {
        return prepared_entry(request, epoch);
    }

    /// The same to keep, perhaps without samplers.
    [[nodiscard]] std::shared_ptr<const PreparedMechanism> describe(const Request& request,
                                                                    int epoch = 0) {
        return entry(request, epoch);
    }

    /// A sampler of this scale.
    [[nodiscard]] PreparedMechanism::Sampler sampler(const LaplaceScale& scale);

private:
    struct Entry {
        Request request;
        int epoch;
        std::shared_ptr<PreparedMechanism> prepared;
    };

    static constexpr std::size_t kPlans = 128;
    static constexpr std::size_t kSamplers = 32;

    const std::shared_ptr<PreparedMechanism>& entry(const Request& request, int epoch);
    const std::shared_ptr<PreparedMechanism>& prepared_entry(const Request& request, int epoch);

    std::array<std::optional<Entry>, kPlans> plans_; ///< found by the horizon or the epoch
    std::array<PreparedMechanism::Sampler, kSamplers> samplers_;
    std::size_t oldest_sampler_ = 0;
};

} // namespace dp_counter
