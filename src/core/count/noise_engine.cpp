#include "core/count/noise_engine.hpp"

#include <cstring>
#include <new>

#include "core/base/alignment.hpp"

namespace dp_counter {

namespace {

std::size_t state_offset(const PreparedPlan& prepared) noexcept {
    return sizeof(NoiseEngine) + align_up(prepared.hats_bytes(), NoiseEngine::kAlignment);
}

} // namespace

std::size_t NoiseEngine::bytes(const PreparedPlan& prepared) noexcept {
    const Plan& plan = prepared.plan();
    return state_offset(prepared) + (plan.is_tree() ? TreeNoise::bytes(plan.digits(), plan.height)
                                                    : HatNoise::bytes(*prepared.hats()));
}

NoiseEngine* NoiseEngine::create(void* block, const PreparedPlan& prepared) noexcept {
    const Plan& plan = prepared.plan();
    auto* engine = new (block) NoiseEngine;
    engine->is_tree_ = plan.is_tree() ? 1 : 0;
    engine->state_ = state_offset(prepared);
    void* state = engine->at<void>(engine->state_);
    if (plan.is_tree()) {
        TreeNoise::create(state, plan.digits(), plan.height);
    } else {
        std::memcpy(engine->at<void>(sizeof(NoiseEngine)), prepared.hats(), prepared.hats_bytes());
        HatNoise::create(state, *prepared.hats());
    }
    return engine;
}

bool NoiseEngine::is_state_at(const Plan& plan, std::int64_t t) noexcept {
    if (is_tree_ != 0)
        return at<TreeNoise>(state_)->is_state_at(plan.digits(), t);
    return at<HatNoise>(state_)->is_state_at(*at<const HatPlan>(sizeof(NoiseEngine)), t);
}

} // namespace dp_counter
