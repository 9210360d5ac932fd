// Live counters in the memory of the unit tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/count/counter_state.hpp"
#include "core/count/state_codec.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

/// A counter that opens its epochs by itself.
class Counter {
public:
    explicit Counter(const Request& request)
        : prepared_(std::make_unique<PreparedMechanism>(make_mechanism(request))),
          memory_(block_of(CounterState::bytes(*prepared_))),
          state_(CounterState::create(memory_.get(), request, *prepared_)) {}
    explicit Counter(const std::vector<unsigned char>& bytes)
        : prepared_(std::make_unique<PreparedMechanism>(StateCodec::decode_public(bytes).spec)),
          memory_(block_of(CounterState::bytes(*prepared_))),
          state_(StateCodec::decode(StateCodec::decode_public(bytes), *prepared_, memory_.get())) {}

    /// Closes a step with this many events since the start; draw(level) is called for each node.
    template <class Draw>
    CounterRelease advance_with(int128 total, Draw&& draw) {
        if (const auto spec = state_->next_epoch()) {
            auto prepared = std::make_unique<PreparedMechanism>(*spec);
            Block next = block_of(CounterState::bytes(*prepared));
            state_ = CounterState::open_epoch(next.get(), *prepared, *state_);
            memory_ = std::move(next);
            prepared_ = std::move(prepared);
            ++epochs_;
        }
        return state_->advance(*prepared_, draw).release(total);
    }
    CounterRelease advance(int128 total, RandomSource& random) {
        return advance_with(
            total, [&](int level) { return test::draw(prepared_->sampler(level), random); });
    }

    [[nodiscard]] std::vector<unsigned char> encode() {
        std::vector<unsigned char> bytes(StateCodec::encoded_bytes(*state_));
        StateCodec::encode(*state_, bytes.data());
        return bytes;
    }
    [[nodiscard]] CounterState& state() { return *state_; }
    [[nodiscard]] const PreparedMechanism& prepared() const { return *prepared_; }
    [[nodiscard]] int epochs() const { return epochs_; }

private:
    std::unique_ptr<PreparedMechanism> prepared_;
    Block memory_;
    CounterState* state_;
    int epochs_ = 1;
};

inline Request counter_request(std::int64_t horizon, double epsilon,
                               std::optional<std::int32_t> k = {},
                               std::optional<Mechanism> mechanism = {}) {
    return {horizon, Epsilon(epsilon), k, mechanism};
}

} // namespace dp_counter::test
