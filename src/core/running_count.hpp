// A private running count as a stream: bits in, releases out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/discrete_laplace.hpp"
#include "core/plan.hpp"
#include "core/tree_noise.hpp"

namespace dp_counter {

/// How far a stream has come. Every row is a step, whatever its bit: a row that did not advance
/// time would move the later bits to other nodes and void the proof.
struct Progress {
    std::int64_t step;  ///< rows seen; public
    std::int64_t count; ///< rows whose bit was set; secret

    /// Takes in one row. Throws Error (data) at the horizon: no noise is planned for a row beyond.
    void record(bool bit, std::int64_t horizon) {
        if (step >= horizon) [[unlikely]]
            throw_beyond(horizon);
        ++step;
        count += bit ? 1 : 0;
    }

    [[noreturn]] static void throw_beyond(std::int64_t horizon);
};

/// The streaming form. After every row the count so far plus the noise of that step's tree nodes:
/// all releases together are epsilon-differentially private (plan.hpp).
///
/// Contract: the object is the head of one block of bytes(...) bytes, aligned to kAlignment, that
/// holds all of the state: plan, sampler, digits, live noise. It may be moved with memcpy. Its size
/// never depends on the step.
class RunningCount {
public:
    static constexpr std::size_t kAlignment = 16;

    [[nodiscard]] static std::size_t bytes(const Plan& plan, const DiscreteLaplace& sampler);

    /// Lays a stream at step 0 into block. The sampler's scale must be the plan's.
    static RunningCount* create(void* block, const Plan& plan, const DiscreteLaplace& sampler);

    /// Takes in one row and returns its release. Throws Error (data, overflow); the stream must not
    /// be used after a throw.
    [[nodiscard]] std::int64_t advance(bool bit, RandomSource& random);

private:
    [[nodiscard]] const DiscreteLaplace& sampler() const noexcept {
        return *reinterpret_cast<const DiscreteLaplace*>(reinterpret_cast<const char*>(this) +
                                                         sampler_offset());
    }
    TreeNoise& noise() noexcept {
        return *reinterpret_cast<TreeNoise*>(reinterpret_cast<char*>(this) + noise_offset_);
    }
    static constexpr std::size_t sampler_offset() noexcept;

    Progress progress_;
    std::int64_t horizon_;
    std::size_t noise_offset_; ///< from the head of the block
};

static_assert(std::is_trivially_copyable_v<RunningCount>);

constexpr std::size_t RunningCount::sampler_offset() noexcept {
    return (sizeof(RunningCount) + kAlignment - 1) / kAlignment * kAlignment;
}

inline std::int64_t RunningCount::advance(bool bit, RandomSource& random) {
    progress_.record(bit, horizon_);
    const DiscreteLaplace& laplace = sampler();
    return checked_add(progress_.count, noise().advance([&] { return laplace.draw(random); }));
}

/// The release of a stream that was not read before: the count after `progress.step` rows with the
/// noise of that step's nodes alone. At step 0 nothing is hidden and the answer is 0.
[[nodiscard]] std::int64_t release_last(const Plan& plan, const Progress& progress,
                                        const DiscreteLaplace& sampler, RandomSource& random);

} // namespace dp_counter
