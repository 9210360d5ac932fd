// The noise of a stream whose mechanism is known at run time only.
//
// One engine per family of mechanisms. An engine is a trivially copyable object in a block whose
// size follows from the mechanism alone; TreeNoise serves the paper's mechanisms, HatNoise hats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/fixed_point.hpp"
#include "core/count/prepared_mechanism.hpp"
#include "core/hat/hat_noise.hpp"
#include "core/tree/tree_noise.hpp"

namespace dp_counter {

/// The head of a block of bytes(prepared) bytes, aligned to kAlignment, that may be moved with
/// memcpy: this object and the engine's state. Every call gets the mechanism that created it, or an
/// equal one for which is_state_at() was true; all streams share its tables, which are public. The
/// block is secret.
class NoiseEngine {
public:
    static constexpr std::size_t kAlignment = 16;

    [[nodiscard]] static std::size_t bytes(const PreparedMechanism& prepared) noexcept;

    /// Lays the noise at step 0 into block.
    static NoiseEngine* create(void* block, const PreparedMechanism& prepared) noexcept;

    /// Goes to the next step and returns the noise of its release. draw(scale) gives the noise of
    /// one node, from spec.scale(scale). Throws as TreeNoise and HatNoise do.
    template <class Draw>
    [[nodiscard]] FixedPoint advance(const PreparedMechanism& prepared, Draw&& draw) {
        if (is_tree_ != 0)
            return fixed_point(state<TreeNoise>()->advance([&] { return draw(0); }));
        return state<HatNoise>()->advance(*prepared.hats(), draw);
    }

    /// How many of the next steps need no more nodes than are drawn.
    [[nodiscard]] std::int64_t steps_drawn() noexcept {
        return is_tree_ != 0 ? 0 : state<HatNoise>()->steps_drawn();
    }

    /// Calls visit(std::int64_t&) for every integer of the state in an order that the mechanism
    /// fixes, to write or to read it. Those of an equal mechanism make the same state.
    template <class Visit>
    void for_each_integer(Visit&& visit) {
        if (is_tree_ != 0)
            state<TreeNoise>()->for_each_integer(visit);
        else
            state<HatNoise>()->for_each_integer(visit);
    }

    /// Whether the integers can be those of a stream with this mechanism at step t. Check this
    /// before using a state that was read from storage.
    [[nodiscard]] bool is_state_at(const PreparedMechanism& prepared, std::int64_t t);

private:
    template <class State>
    [[nodiscard]] State* state() noexcept {
        return reinterpret_cast<State*>(this + 1);
    }

    alignas(kAlignment) std::size_t is_tree_;
};

static_assert(std::is_trivially_copyable_v<NoiseEngine>);
static_assert(sizeof(NoiseEngine) % NoiseEngine::kAlignment == 0);

} // namespace dp_counter
