#include "core/prepared_plan.hpp"

#include <utility>

namespace dp_counter {

PreparedPlan::PreparedPlan(const Plan& plan, std::vector<Sampler> samplers)
    : plan_(plan), samplers_(std::move(samplers)) {
    if (plan_.is_tree())
        return;
    tables_bytes_ = HatPlan::bytes(plan_.levels);
    tables_ = std::make_unique<std::uint64_t[]>((tables_bytes_ + 7) / 8);
    HatPlan::create(tables_.get(), plan_.levels);
}

} // namespace dp_counter
