#include "core/tree_noise.hpp"

#include <new>

namespace dp_counter {

TreeNoise* TreeNoise::create(void* block, const DigitSystem& system, int height) noexcept {
    std::memset(block, 0, bytes(system, height));
    auto* noise = new (block) TreeNoise;
    noise->total_ = 0;
    noise->highest_ = system.highest();
    noise->stack_size_ = static_cast<std::int64_t>(stack_size(system));
    noise->height_ = height;
    return noise;
}

} // namespace dp_counter
