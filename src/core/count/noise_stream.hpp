// The noise of a private running count as a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/count/noise_engine.hpp"
#include "core/count/prepared_mechanism.hpp"
#include "core/noise/release.hpp"

namespace dp_counter {

/// How far a count or a sum has come. Every row is a step, whatever it adds: a row that did not
/// advance time would move the later ones to other nodes and void the proof.
struct Progress {
    std::int64_t step; ///< rows seen, at most kMaxHorizon; public
    int128 total;      ///< of what they added, below 2^125: never clamped (saturated()); secret

    /// Takes in one row: a bit or a number. None may come after the horizon, for which no noise is
    /// planned.
    void record(std::int64_t addend) noexcept {
        ++step;
        total += addend;
    }

    /// The release, with this noise.
    [[nodiscard]] std::int64_t release(std::int64_t noise) const noexcept {
        return saturated(total + noise);
    }

    /// Throws Error (data).
    [[noreturn]] static void throw_beyond(std::int64_t horizon);
};

/// The streaming form: at every step the noise of that step's nodes, rounded. The count so far plus
/// this noise, at all steps together, is epsilon-differentially private (mechanism_spec.hpp). The
/// caller keeps the count: nothing in here depends on it.
///
/// Noise is drawn ahead, some steps at a time: a row then costs an addition, and its time reveals
/// nothing. The noise of a passed step is wiped.
///
/// Contract: the object is the head of one block of bytes(prepared) bytes, aligned to kAlignment,
/// that holds all that is secret, and may be moved with memcpy. Its size never depends on the step.
/// The mechanism is public and shared: it must outlive the stream.
class alignas(NoiseEngine::kAlignment) NoiseStream {
public:
    static constexpr std::size_t kAlignment = NoiseEngine::kAlignment;

    [[nodiscard]] static std::size_t bytes(const PreparedMechanism& prepared) noexcept {
        return sizeof(NoiseStream) + NoiseEngine::bytes(prepared);
    }

    /// Lays a stream at step 0 into block.
    static NoiseStream* create(void* block, const PreparedMechanism& prepared) noexcept;

    /// Lays the next epoch of an unbounded stream into another block; `previous` is over. The total
    /// of the closed epoch is carried on with the noise of its last step, before it is rounded.
    static NoiseStream* create_next(void* block, const PreparedMechanism& prepared,
                                    const NoiseStream& previous) noexcept;

    /// Whether all steps of the mechanism have been taken: of the horizon, or of the epoch.
    [[nodiscard]] bool is_over() const noexcept { return !is_ready() && drawn_ == end_; }

    /// Takes the next step: look_ahead() where it is needed, then take().
    [[nodiscard]] std::int64_t advance(const Release& release) {
        if (!is_ready()) [[unlikely]]
            look_ahead(release);
        return take();
    }

    /// Whether the noise of the next step is drawn.
    [[nodiscard]] bool is_ready() const noexcept { return next_ != kAhead; }

    /// Draws the noise of the next steps, at most kAhead; none may be left. `release` is of the
    /// mechanism's unit. Throws Error (data) where no step is left, and Error (overflow) as
    /// rounded() does; the stream must not be used after a throw.
    void look_ahead(const Release& release);

    /// Takes the next step and hands out its noise; is_ready() must hold.
    [[nodiscard]] std::int64_t take() noexcept { return std::exchange(ahead_[next_++], 0); }

private:
    static constexpr std::size_t kAhead = 32; ///< few enough for a cancel to wait for
    static constexpr std::size_t kLeastAhead = 6;

    [[nodiscard]] NoiseEngine& engine() noexcept {
        return *reinterpret_cast<NoiseEngine*>(this + 1);
    }

    FixedPoint carried_ = 0;       ///< of the closed epochs' totals
    FixedPoint noise_ = 0;         ///< of the last step whose noise is drawn
    std::size_t next_ = kAhead;    ///< the place of the next step in ahead_, to its end
    std::int64_t ahead_[kAhead]{}; ///< noise of the steps to come, rounded; else 0
    std::int64_t drawn_ = 0;       ///< the last step whose noise is drawn
    std::int64_t end_;             ///< the step at which the mechanism ends
    const PreparedMechanism* prepared_;
};

static_assert(std::is_trivially_copyable_v<NoiseStream>);
static_assert(sizeof(NoiseStream) % NoiseEngine::kAlignment == 0);

/// The noise of the release at `step` of a stream that releases nothing else: that of the nodes
/// with a weight at this step alone. At step 0 there is none. draw(scale) gives the noise of one
/// node.
template <class Draw>
[[nodiscard]] FixedPoint sample_noise(const PreparedMechanism& prepared, std::int64_t step,
                                      Draw&& draw) {
    const MechanismSpec& spec = prepared.spec();
    if (step == 0)
        return 0;
    if (!spec.is_tree())
        return HatNoise::sample(*prepared.hats(), step, draw);
    return fixed_point(
        TreeNoise::sample(spec.digits(), spec.height, step, [&] { return draw(0); }));
}

} // namespace dp_counter
