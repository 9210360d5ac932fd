#include "core/count/noise_engine.hpp"

#include <cstring>
#include <new>

#include "core/base/alignment.hpp"

namespace dp_counter {

namespace {

std::size_t state_offset(const PreparedMechanism& prepared) noexcept {
    return sizeof(NoiseEngine) + align_up(prepared.hats_bytes(), NoiseEngine::kAlignment);
}

} // namespace

std::size_t NoiseEngine::bytes(const PreparedMechanism& prepared) noexcept {
    const MechanismSpec& spec = prepared.spec();
    return state_offset(prepared) + (spec.is_tree() ? TreeNoise::bytes(spec.digits(), spec.height)
                                                    : HatNoise::bytes(*prepared.hats()));
}

NoiseEngine* NoiseEngine::create(void* block, const PreparedMechanism& prepared) noexcept {
    const MechanismSpec& spec = prepared.spec();
    auto* engine = new (block) NoiseEngine;
    engine->is_tree_ = spec.is_tree() ? 1 : 0;
    engine->state_ = state_offset(prepared);
    void* state = engine->at<void>(engine->state_);
    if (spec.is_tree()) {
        TreeNoise::create(state, spec.digits(), spec.height);
    } else {
        std::memcpy(engine->at<void>(sizeof(NoiseEngine)), prepared.hats(), prepared.hats_bytes());
        HatNoise::create(state, *prepared.hats());
    }
    return engine;
}

bool NoiseEngine::is_state_at(const MechanismSpec& spec, std::int64_t t) noexcept {
    if (is_tree_ != 0)
        return at<TreeNoise>(state_)->is_state_at(spec.digits(), t);
    return at<HatNoise>(state_)->is_state_at(*at<const HatWeights>(sizeof(NoiseEngine)), t);
}

} // namespace dp_counter
