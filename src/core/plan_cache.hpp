// Remembers plans and samplers: many partitions ask for the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/discrete_laplace.hpp"
#include "core/plan.hpp"

namespace dp_counter {

/// A cache of public values: a plan costs up to 200 microseconds to choose and a sampler up to 200
/// to set up, against 20 nanoseconds a row. It never grows. A reference that it returns is good
/// until the next call of the same function.
class PlanCache {
public:
    /// make_plan(request)
    [[nodiscard]] const Plan& plan(const Request& request);

    /// DiscreteLaplace(scale)
    [[nodiscard]] const DiscreteLaplace& sampler(const LaplaceScale& scale);

private:
    struct PlanEntry {
        Request request;
        Plan plan;
    };

    static constexpr std::size_t kPlans = 256;
    static constexpr std::size_t kSamplers = 16;

    std::array<std::optional<PlanEntry>, kPlans> plans_;
    std::array<std::optional<DiscreteLaplace>, kSamplers> samplers_;
    std::size_t oldest_sampler_ = 0;
};

} // namespace dp_counter
