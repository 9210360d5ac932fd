// The noise of a live counter: a private running count that goes on for as long as events arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/base/checked.hpp"
#include "core/count/noise_engine.hpp"
#include "core/count/prepared_mechanism.hpp"

namespace dp_counter {

/// What a closed step publishes: nothing in it is secret.
struct CounterRelease {
    std::int64_t step;
    std::int64_t count;
    double stddev; ///< of count's noise: exact, rounding counted as kRoundingVariance
};

/// The noise of a closed step; secret.
struct StepNoise {
    std::int64_t step;
    std::int64_t noise;
    double stddev;

    /// The release of a counter that has had `total` events in its life, at most 2^96.
    [[nodiscard]] CounterRelease release(int128 total) const noexcept {
        return {step, saturated(total + noise), stddev};
    }
};

/// The secret state of a live counter: the live noise of its mechanism. The caller keeps the count;
/// nothing in here depends on it.
///
/// A step may hold any number of events. Neighbors differ by one event more or less in one step,
/// which moves the node sums that hold the step by one, as a bit does: all releases together are
/// epsilon-differentially private (mechanism_spec.hpp), even where later events depend on earlier
/// releases.
///
/// A counter with a horizon is one tree. Without one it is a sequence of trees, epochs of growing
/// length (epochs.hpp), each with all of epsilon: an event is in one epoch. The last release of an
/// epoch is where the next one starts (before it is rounded: a sum is rounded once); what is added
/// to a release costs no privacy.
///
/// Contract: the object is the head of one block of bytes(prepared) bytes, aligned to kAlignment,
/// that may be moved with memcpy. Its size follows from the mechanism, never from the counts.
/// Before advance() an epoch that is over must be followed by open_epoch(), in another block.
class alignas(NoiseEngine::kAlignment) CounterState {
public:
    static constexpr std::size_t kAlignment = NoiseEngine::kAlignment;

    [[nodiscard]] static std::size_t bytes(const PreparedMechanism& prepared) noexcept {
        return sizeof(CounterState) + NoiseEngine::bytes(prepared);
    }

    /// Lays a counter at step 0 into block; the mechanism is make_mechanism(request).
    static CounterState* create(void* block, const Request& request,
                                const PreparedMechanism& prepared) noexcept;

    /// The mechanism of the next epoch if the current one is over and the counter goes on. Throws
    /// Error (data) at the horizon of a counter that has one.
    [[nodiscard]] std::optional<MechanismSpec> next_epoch() const;

    /// Lays the counter `before`, whose epoch is over, into block, with a fresh tree.
    static CounterState* open_epoch(void* block, const PreparedMechanism& prepared,
                                    const CounterState& before) noexcept;

    /// Closes a step. `prepared` is that of the epoch; draw(scale) gives the noise of one node,
    /// from spec().scale(scale). Throws Error (data) past the epoch, (overflow) as rounded() does;
    /// the state must not be used after a throw.
    template <class Draw>
    [[nodiscard]] StepNoise advance(const PreparedMechanism& prepared, Draw&& draw);

    [[nodiscard]] bool is_bounded() const noexcept { return request_.horizon != kUnbounded; }
    [[nodiscard]] const Request& request() const noexcept { return request_; }
    [[nodiscard]] const MechanismSpec& spec() const noexcept { return spec_; }
    [[nodiscard]] std::int64_t step() const noexcept { return step_; }

private:
    friend class StateCodec;

    CounterState(const Request& request, const MechanismSpec& spec)
        : request_(request), spec_(spec) {}

    [[nodiscard]] NoiseEngine& engine() noexcept {
        return *reinterpret_cast<NoiseEngine*>(this + 1);
    }
    [[nodiscard]] std::int64_t step_of_epoch() const noexcept { return step_ - epoch_start_; }
    [[noreturn]] static void throw_past_epoch();

    Request request_;
    MechanismSpec spec_;     ///< of the current epoch
    FixedPoint noise_ = 0;   ///< of the last release; secret
    FixedPoint carried_ = 0; ///< of the last release before the current epoch; secret
    std::int64_t step_ = 0;
    std::int64_t epoch_ = 0;       ///< number of the current epoch
    std::int64_t epoch_start_ = 0; ///< steps before it
    double variance_ = 0;          ///< of noise_; public
    double carried_variance_ = 0;  ///< of carried_; public
};

static_assert(std::is_trivially_copyable_v<CounterState>);
static_assert(alignof(CounterState) <= CounterState::kAlignment);
static_assert(sizeof(CounterState) % NoiseEngine::kAlignment == 0);

template <class Draw>
StepNoise CounterState::advance(const PreparedMechanism& prepared, Draw&& draw) {
    if (step_of_epoch() >= spec_.horizon) [[unlikely]]
        throw_past_epoch();
    noise_ = checked_add(carried_, engine().advance(prepared, draw));
    ++step_;
    variance_ = carried_variance_ + prepared.exact_variance_at(step_of_epoch());
    const double rounding = spec_.is_fractional() ? kRoundingVariance : 0;
    return {step_, rounded(noise_), __builtin_sqrt(variance_ + rounding)};
}

} // namespace dp_counter
