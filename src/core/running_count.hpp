// A private running count as a stream: bits in, releases out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/noise_engine.hpp"
#include "core/prepared_plan.hpp"
#include "core/random_source.hpp"

namespace dp_counter {

/// How far a stream has come. Every row is a step, whatever its bit: a row that did not advance
/// time would move the later bits to other nodes and void the proof.
struct Progress {
    std::int64_t step;  ///< rows seen; public
    std::int64_t count; ///< rows whose bit was set; secret

    /// Takes in one row; none may come after the horizon, for which no noise is planned.
    void record(bool bit) noexcept {
        ++step;
        count += bit ? 1 : 0;
    }

    /// Throws Error (data).
    [[noreturn]] static void throw_beyond(std::int64_t horizon);
};

/// The streaming form. After every row the count so far plus the noise of that step's nodes: all
/// releases together are epsilon-differentially private (plan.hpp).
///
/// The noise of a step depends on the step alone, not on the bits, so it is drawn ahead, some rows
/// at a time: a row then costs an addition, and its time tells nothing. That of a passed row is
/// wiped.
///
/// Contract: the object is the head of one block of bytes(prepared) bytes, aligned to kAlignment,
/// that holds all of the state: samplers, weights, digits or places, live noise. It may be moved
/// with memcpy. Its size never depends on the step.
class RunningCount {
public:
    static constexpr std::size_t kAlignment = NoiseEngine::kAlignment;

    [[nodiscard]] static std::size_t bytes(const PreparedPlan& prepared);

    /// Lays a stream at step 0 into block.
    static RunningCount* create(void* block, const PreparedPlan& prepared) noexcept;

    /// Lays the next epoch of an unbounded stream into another block; `previous` is over. The total
    /// of the closed epoch is carried on with the noise of its last step, before it is rounded.
    static RunningCount* create_next(void* block, const PreparedPlan& prepared,
                                     const RunningCount& previous);

    /// Whether all steps of the plan have been taken: of the horizon, or of the epoch.
    [[nodiscard]] bool is_over() const noexcept { return progress_.step == end_; }

    /// Takes in one row and returns its release: look_ahead() where it is needed, then take_in().
    [[nodiscard]] std::int64_t advance(bool bit, RandomSource& random) {
        if (!is_ready()) [[unlikely]]
            look_ahead(random);
        return take_in(bit);
    }

    /// Whether the noise of the next row is drawn.
    [[nodiscard]] bool is_ready() const noexcept { return next_ != kAhead; }

    /// Draws the noise of the next rows, 8 to kAhead; none may be left. Throws Error (data) where
    /// no step is left, and Error (overflow) if one of these rows might have a release beyond
    /// int64, whatever the bits; the stream must not be used after a throw.
    void look_ahead(RandomSource& random);

    /// Takes in one row and returns its release; is_ready() must hold.
    [[nodiscard]] std::int64_t take_in(bool bit) noexcept {
        progress_.record(bit);
        const std::int64_t release = progress_.count + ahead_[next_];
        ahead_[next_++] = 0;
        return release;
    }

private:
    static constexpr std::size_t kAhead = 32; ///< few enough for a cancel to wait for

    template <class Object>
    [[nodiscard]] Object* at(std::size_t offset) noexcept {
        return reinterpret_cast<Object*>(reinterpret_cast<char*>(this) + offset);
    }

    ExactNoise carried_; ///< of the closed epochs' totals
    ExactNoise noise_;   ///< of the last step whose noise is drawn
    Progress progress_;
    std::size_t next_;                    ///< the place of the next row in ahead_, to its end
    std::int64_t ahead_[kAhead]{};        ///< noise of the rows to come, rounded; else 0
    std::int64_t end_;                    ///< the step at which the plan ends
    std::size_t engine_;                  ///< offset from the head of the block
    std::uint32_t sampler_[kMaxHeight]{}; ///< of every level's sampler
};

static_assert(std::is_trivially_copyable_v<RunningCount>);

/// The noise of the release at `step` of a stream that releases nothing else: that of the nodes
/// with a weight at this step alone. At step 0 there is none. draw(level) gives the noise of one
/// node.
template <class Draw>
[[nodiscard]] ExactNoise sample_noise(const PreparedPlan& prepared, std::int64_t step,
                                      Draw&& draw) {
    const Plan& plan = prepared.plan();
    if (step == 0)
        return 0;
    if (!plan.is_tree())
        return HatNoise::sample(*prepared.hats(), step, draw);
    return exact_noise(
        TreeNoise::sample(plan.digits(), plan.height, step, [&] { return draw(0); }));
}

} // namespace dp_counter
