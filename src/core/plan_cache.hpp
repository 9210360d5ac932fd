// Remembers prepared plans and samplers: many partitions ask for the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "core/prepared_plan.hpp"

namespace dp_counter {

/// A cache of public values. It holds a fixed number of entries; the largest, for horizons near
/// 1e9, take some 100 kB. A reference that it returns is good until the next call.
class PlanCache {
public:
    /// The prepared plan of make_plan(request); of make_epoch_plan(request, epoch) if the request
    /// is unbounded. Throws as these do.
    [[nodiscard]] const PreparedPlan& prepare(const Request& request, int epoch = 0);

    /// A sampler of this scale.
    [[nodiscard]] PreparedPlan::Sampler sampler(const LaplaceScale& scale);

private:
    struct Entry {
        Request request;
        int epoch;
        PreparedPlan prepared;
    };

    static constexpr std::size_t kPlans = 128;
    static constexpr std::size_t kSamplers = 32;

    std::array<std::optional<Entry>, kPlans> plans_; ///< found by the horizon or the epoch
    std::array<PreparedPlan::Sampler, kSamplers> samplers_;
    std::size_t oldest_sampler_ = 0;
};

} // namespace dp_counter
