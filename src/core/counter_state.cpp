#include "core/counter_state.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "core/tree_error.hpp"

namespace dp_counter {

namespace {

Plan epoch_plan(const CounterRequest& request, std::int64_t horizon) {
    return make_plan({horizon, request.epsilon, request.radix, request.mechanism});
}

} // namespace

Plan CounterState::first_plan(const CounterRequest& request) {
    return epoch_plan(request, request.is_bounded() ? request.horizon : kFirstEpoch);
}

CounterState* CounterState::create(void* block, const CounterRequest& request, const Plan& plan) {
    auto* state = new (block) CounterState(request, plan);
    NoiseEngine::create(state->engine(), plan);
    return state;
}

std::optional<Plan> CounterState::next_epoch() const {
    if (step_of_epoch() < plan_.horizon)
        return std::nullopt;
    if (request_.is_bounded())
        throw Error(Fault::data,
                    "the counter is at its horizon of " + std::to_string(request_.horizon) +
                        " steps",
                    "No event is lost: those of the open step stay recorded. Create another "
                    "counter, with a horizon that is long enough or without one.");
    if (step_ > kMaxHorizon / 2) // 10^11 years of steps a second
        throw_overflow();
    return epoch_plan(request_, std::min(kMaxHorizon, plan_.horizon * kEpochGrowth));
}

CounterState* CounterState::open_epoch(void* block, const Plan& plan, const CounterState& before) {
    CounterState* state = create(block, before.request_, plan);
    state->step_ = before.step_;
    state->epoch_start_ = before.step_;
    state->count_ = before.count_;
    state->noise_ = before.noise_;
    state->carried_ = before.noise_;
    state->carried_variance_ = before.variance();
    return state;
}

double CounterState::variance() const noexcept {
    return carried_variance_ + plan_.scale().variance() *
                                   static_cast<double>(nodes_at(plan_.digits(), step_of_epoch()));
}

void CounterState::throw_missing_events() const {
    throw Error(Fault::corrupt, "events that the counter has counted are missing",
                "The extension's tables were changed or only partly restored.");
}

} // namespace dp_counter
