// Remembers prepared plans and samplers: many partitions ask for the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "core/count/prepared_mechanism.hpp"

namespace dp_counter {

/// A cache of public values, for streams and for what is told of them. It holds a fixed number of
/// entries; the largest, for horizons near 1e9, take some 100 kB.
class PlanCache {
public:
    /// The prepared plan of make_plan(request, epoch). Throws as that does. The reference is good
    /// until the next call.
    [[nodiscard]] const PreparedPlan& prepare(const Request& request, int epoch = 0);

    /// The same to keep, perhaps without samplers.
    [[nodiscard]] std::shared_ptr<const PreparedPlan> describe(const Request& request,
                                                               int epoch = 0) {
        return entry(request, epoch);
    }

    /// A sampler of this scale.
    [[nodiscard]] PreparedPlan::Sampler sampler(const LaplaceScale& scale);

private:
    struct Entry {
        Request request;
        int epoch;
        std::shared_ptr<PreparedPlan> prepared;
    };

    static constexpr std::size_t kPlans = 128;
    static constexpr std::size_t kSamplers = 32;

    const std::shared_ptr<PreparedPlan>& entry(const Request& request, int epoch);

    std::array<std::optional<Entry>, kPlans> plans_; ///< found by the horizon or the epoch
    std::array<PreparedPlan::Sampler, kSamplers> samplers_;
    std::size_t oldest_sampler_ = 0;
};

} // namespace dp_counter
