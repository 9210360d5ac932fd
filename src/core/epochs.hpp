// A stream without a horizon: epochs of growing length, each a hat mechanism of its own with the
// whole epsilon. A step lies in one epoch, so all releases together are epsilon-private (parallel
// composition). When an epoch ends, its total is carried on with the noise of its last release:
//     release at t = count at t + noise of the closed epochs' last releases + noise of the current
//     one
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/hat_error.hpp"
#include "core/hat_noise.hpp"

namespace dp_counter {

/// The epochs end after 14, 100, 1000, 10^4, ..., 10^18 and kMaxHorizon steps. Factor 10 keeps the
/// number of carried totals small (each costs about 2 h^2 top nodes' noise); fewer and longer
/// epochs would make streams that end early within one pay for the height of a longer one.
inline constexpr int kEpochs = 19;

/// The steps before epoch number 0 .. kEpochs - 1, and its length.
[[nodiscard]] std::int64_t epoch_begin(int epoch) noexcept;
[[nodiscard]] std::int64_t epoch_length(int epoch) noexcept;

/// The epoch in which step t lies, 1 <= t <= kMaxHorizon.
[[nodiscard]] int epoch_of(std::int64_t t) noexcept;

/// The mechanism of an epoch: with fewer top nodes than for a stream that ends with it, since the
/// noise of its total stays.
[[nodiscard]] HatSpec epoch_spec(int epoch, Epsilon epsilon);

/// The state of a stream: the totals' noise and the current epoch's engine. The object is the head
/// of a block of bytes(plan) bytes, aligned to 16, that may be moved with memcpy; every call gets
/// the plan of epoch(). When is_over(), the stream goes on in a block for the next epoch's plan.
class EpochNoise {
public:
    [[nodiscard]] static std::size_t bytes(const HatPlan& plan) noexcept {
        return sizeof(EpochNoise) + HatNoise::bytes(plan);
    }

    /// Lays the state at step 0 into block; the plan is that of epoch 0.
    static EpochNoise* create(void* block, const HatPlan& plan) noexcept;

    /// Lays the state at the start of the next epoch into another block; the plan is that of epoch
    /// previous.epoch() + 1.
    static EpochNoise* next(void* block, const HatPlan& plan, const EpochNoise& previous) noexcept;

    [[nodiscard]] int epoch() const noexcept { return static_cast<int>(epoch_); }
    [[nodiscard]] bool is_over() const noexcept { return left_ == 0; }
    [[nodiscard]] std::int64_t step() const noexcept {
        return epoch_begin(epoch()) + epoch_length(epoch()) - left_;
    }

    /// Goes to the next step of the epoch, which is not over, and returns the noise of its release.
    /// draw(level) is as for HatNoise, from the scales of this epoch's spec.
    template <class Draw>
    std::int64_t advance(const HatPlan& plan, Draw&& draw) {
        const std::int64_t noise = checked_add(closed_, engine()->advance(plan, draw));
        if (--left_ == 0)
            closed_ = noise;
        return noise;
    }

    /// The noise of a release at step t alone. plan_of(epoch) gives the plan of an epoch,
    /// draw(epoch, level) one noise value from the scales of its spec.
    template <class PlanOf, class Draw>
    [[nodiscard]] static std::int64_t sample(std::int64_t t, PlanOf&& plan_of, Draw&& draw) {
        const int last = epoch_of(t);
        std::int64_t noise = 0;
        for (int epoch = 0; epoch <= last; ++epoch) {
            const std::int64_t step = epoch < last ? epoch_length(epoch) : t - epoch_begin(last);
            const HatPlan& plan = plan_of(epoch);
            noise = checked_add(
                noise, HatNoise::sample(plan, step, [&](int level) { return draw(epoch, level); }));
        }
        return noise;
    }

    [[nodiscard]] HatNoise* engine() noexcept { return reinterpret_cast<HatNoise*>(this + 1); }

private:
    std::int64_t closed_; ///< noise of the closed epochs' totals
    std::int64_t left_;   ///< steps of the epoch to come
    std::int64_t epoch_;
    std::int64_t unused_; ///< zero; keeps the engine aligned
};

static_assert(std::is_trivially_copyable_v<EpochNoise>);
static_assert(sizeof(EpochNoise) % alignof(HatNoise) == 0);

/// How much noise the releases of a stream without a horizon have. Makes the epochs' plans as they
/// are asked for and keeps them.
class EpochErrors {
public:
    explicit EpochErrors(Epsilon epsilon) : epsilon_(epsilon) {}

    /// The variance of the release at step t: of the carried totals, rounded, and of the current
    /// epoch's noise before its rounding. O(height) once the plans are made.
    [[nodiscard]] double variance_at(std::int64_t t);

    /// The mean of the variances at steps 1 .. t. Exact, if the last epoch has ended or has seen at
    /// most 2^20 steps; otherwise that many of its steps are sampled.
    [[nodiscard]] double mse(std::int64_t t);

private:
    struct Epoch {
        HatPlanBlock plan;
        double carried_in; ///< variance of the totals of the epochs before
        double total;      ///< of this epoch's total
        double mse;        ///< of this epoch alone; below zero: not yet computed
    };
    Epoch& at(int epoch);

    Epsilon epsilon_;
    std::vector<Epoch> epochs_;
};

} // namespace dp_counter
