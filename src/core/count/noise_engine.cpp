#include "core/count/noise_engine.hpp"

#include <new>

namespace dp_counter {

std::size_t NoiseEngine::bytes(const PreparedMechanism& prepared) noexcept {
    const MechanismSpec& spec = prepared.spec();
    return sizeof(NoiseEngine) + (spec.is_tree() ? TreeNoise::bytes(spec.digits(), spec.height)
                                                 : HatNoise::bytes(*prepared.hats()));
}

NoiseEngine* NoiseEngine::create(void* block, const PreparedMechanism& prepared) noexcept {
    const MechanismSpec& spec = prepared.spec();
    auto* engine = new (block) NoiseEngine;
    engine->is_tree_ = spec.is_tree() ? 1 : 0;
    if (spec.is_tree())
        TreeNoise::create(engine->state<void>(), spec.digits(), spec.height);
    else
        HatNoise::create(engine->state<void>(), *prepared.hats());
    return engine;
}

bool NoiseEngine::is_state_at(const PreparedMechanism& prepared, std::int64_t t) {
    if (is_tree_ != 0)
        return state<TreeNoise>()->is_state_at(prepared.spec().digits(), t);
    return state<HatNoise>()->is_state_at(*prepared.hats(), t);
}

} // namespace dp_counter
