#include "core/count/counter_state.hpp"

#include <new>
#include <string>

#include "core/count/epochs.hpp"

namespace dp_counter {

CounterState* CounterState::create(void* block, const Request& request,
                                   const PreparedMechanism& prepared) noexcept {
    auto* state = new (block) CounterState(request, prepared.spec());
    NoiseEngine::create(&state->engine(), prepared);
    return state;
}

std::optional<MechanismSpec> CounterState::next_epoch() const {
    if (step_of_epoch() < spec_.horizon)
        return std::nullopt;
    if (is_bounded())
        throw Error(Fault::data,
                    "the counter has reached its horizon of " + std::to_string(request_.horizon) +
                        " steps",
                    "No event is lost: those of the open step stay recorded. Create another "
                    "counter, with a larger horizon or without one.");
    if (epoch_ + 1 >= kEpochs) // 10^11 years of steps a second
        throw_overflow();
    return make_mechanism(request_, static_cast<int>(epoch_ + 1));
}

CounterState* CounterState::open_epoch(void* block, const PreparedMechanism& prepared,
                                       const CounterState& before) noexcept {
    CounterState* state = create(block, before.request_, prepared);
    state->step_ = before.step_;
    state->epoch_ = before.epoch_ + 1;
    state->epoch_start_ = before.step_;
    state->noise_ = before.noise_;
    state->carried_ = before.noise_;
    state->variance_ = before.variance_;
    state->carried_variance_ = before.variance_;
    return state;
}

void CounterState::throw_past_epoch() {
    throw Error(Fault::data, "the epoch of the counter is over");
}

} // namespace dp_counter
