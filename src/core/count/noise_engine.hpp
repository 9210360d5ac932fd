// The noise of a stream whose mechanism is known at run time only.
//
// One engine per family of mechanisms. An engine is a trivially copyable object in a block whose
// size follows from the mechanism alone; TreeNoise serves the paper's mechanisms, HatNoise bridge
// and hat.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/fixed_point.hpp"
#include "core/count/prepared_mechanism.hpp"
#include "core/hat/hat_noise.hpp"
#include "core/tree/tree_noise.hpp"

namespace dp_counter {

/// The head of a block of bytes(prepared) bytes, aligned to kAlignment, that may be moved with
/// memcpy: this object, the tables of a hat mechanism if there is one, the engine's state.
class NoiseEngine {
public:
    static constexpr std::size_t kAlignment = 16;

    [[nodiscard]] static std::size_t bytes(const PreparedMechanism& prepared) noexcept;

    /// Lays the noise at step 0 into block.
    static NoiseEngine* create(void* block, const PreparedMechanism& prepared) noexcept;

    /// Goes to the next step and returns the noise of its release. draw(level) gives the noise of
    /// one node, from spec.scale(level). Throws as TreeNoise and HatNoise do.
    template <class Draw>
    [[nodiscard]] FixedPoint advance(Draw&& draw) {
        if (is_tree_ != 0)
            return fixed_point(at<TreeNoise>(state_)->advance([&] { return draw(0); }));
        return at<HatNoise>(state_)->advance(*at<const HatWeights>(sizeof(NoiseEngine)), draw);
    }

    /// Calls visit(std::int64_t&) for every integer of the state in an order that the mechanism
    /// fixes, to write or to read it. Those of an equal mechanism make the same state.
    template <class Visit>
    void for_each_integer(Visit&& visit) {
        if (is_tree_ != 0)
            at<TreeNoise>(state_)->for_each_integer(visit);
        else
            at<HatNoise>(state_)->for_each_integer(*at<const HatWeights>(sizeof(NoiseEngine)),
                                                   visit);
    }

    /// Whether the integers can be those of a stream with this mechanism at step t. To be asked
    /// before a state that was read from storage is used.
    [[nodiscard]] bool is_state_at(const MechanismSpec& spec, std::int64_t t) noexcept;

private:
    template <class Object>
    [[nodiscard]] Object* at(std::size_t offset) noexcept {
        return reinterpret_cast<Object*>(reinterpret_cast<char*>(this) + offset);
    }

    std::size_t is_tree_;
    std::size_t state_; ///< offset of the engine's state
};

static_assert(std::is_trivially_copyable_v<NoiseEngine>);
static_assert(sizeof(NoiseEngine) % NoiseEngine::kAlignment == 0);

} // namespace dp_counter
