#include "core/counter_state.hpp"

#include <algorithm>
#include <new>
#include <string>

namespace dp_counter {

namespace {

/// The plan of an epoch of a counter without a horizon: 1024, 4096, ... steps.
Plan epoch_plan(const CounterRequest& request, std::int64_t epoch) {
    constexpr std::int64_t kFirst = 1024;
    constexpr std::int64_t kLast = 26; // 2^62 steps
    const std::int64_t horizon = kFirst << (2 * std::min(epoch, kLast));
    return make_plan({horizon, request.epsilon, request.radix, request.mechanism});
}

} // namespace

Plan CounterState::first_plan(const CounterRequest& request) {
    if (request.is_bounded())
        return make_plan({request.horizon, request.epsilon, request.radix, request.mechanism});
    return epoch_plan(request, 0);
}

CounterState* CounterState::create(void* block, const CounterRequest& request,
                                   const PreparedPlan& prepared) noexcept {
    auto* state = new (block) CounterState(request, prepared.plan());
    NoiseEngine::create(&state->engine(), prepared);
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
    return epoch_plan(request_, epoch_ + 1);
}

CounterState* CounterState::open_epoch(void* block, const PreparedPlan& prepared,
                                       const CounterState& before) noexcept {
    CounterState* state = create(block, before.request_, prepared);
    state->step_ = before.step_;
    state->epoch_ = before.epoch_ + 1;
    state->epoch_start_ = before.step_;
    state->count_ = before.count_;
    state->noise_ = before.noise_;
    state->carried_ = before.noise_;
    state->variance_ = before.variance_;
    state->carried_variance_ = before.variance_;
    return state;
}

void CounterState::throw_missing_events() {
    throw Error(Fault::corrupt, "events that the counter has counted are missing",
                "The extension's tables were changed or only partly restored.");
}

void CounterState::throw_past_epoch() {
    throw Error(Fault::data, "the epoch of the counter is over");
}

} // namespace dp_counter
