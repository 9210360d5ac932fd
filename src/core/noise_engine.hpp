// The noise of a stream whose mechanism is known at run time only.
//
// One engine per family of mechanisms; a new one is a case in each switch below and a row in
// Mechanism. An engine is a trivially copyable object at the head of a block whose size follows
// from the plan alone; it offers create, advance, visit and is_state_at as TreeNoise does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/plan.hpp"
#include "core/tree_noise.hpp"

namespace dp_counter {

class NoiseEngine {
public:
    [[nodiscard]] static std::size_t bytes(const Plan& plan) noexcept {
        return TreeNoise::bytes(plan.digits(), plan.height);
    }

    /// How many integers visit() visits.
    [[nodiscard]] static std::size_t integers(const Plan& plan) noexcept {
        return TreeNoise::integers(plan.digits(), plan.height);
    }

    /// Lays the state at step 0 into block, which must be aligned to 16.
    static void create(void* block, const Plan& plan) noexcept {
        TreeNoise::create(block, plan.digits(), plan.height);
    }

    /// Goes to the next step and returns the noise of its release. draw() gives the noise of a
    /// node.
    template <class Draw>
    [[nodiscard]] static std::int64_t advance(void* block, const Plan& plan, Draw&& draw) {
        switch (plan.mechanism) {
        case Mechanism::subtraction:
        case Mechanism::plain:
            break;
        }
        return static_cast<TreeNoise*>(block)->advance(draw);
    }

    /// visit(value, low, high) for each integer that changes over time.
    template <class Visit>
    static void visit(void* block, const Plan& /*plan*/, Visit&& visit) {
        static_cast<TreeNoise*>(block)->visit(visit);
    }

    [[nodiscard]] static bool is_state_at(void* block, const Plan& plan, std::int64_t t) noexcept {
        return static_cast<TreeNoise*>(block)->is_state_at(plan.digits(), t);
    }
};

} // namespace dp_counter
