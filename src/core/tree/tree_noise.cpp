#include "core/tree/tree_noise.hpp"

#include <new>

namespace dp_counter {

TreeNoise* TreeNoise::create(void* block, const DigitSystem& system, int height) noexcept {
    std::memset(block, 0, bytes(system, height));
    auto* noise = new (block) TreeNoise;
    noise->highest_ = system.highest();
    noise->stack_size_ = static_cast<std::int64_t>(stack_size(system));
    noise->height_ = height;
    return noise;
}

bool TreeNoise::is_state_at(const DigitSystem& system, std::int64_t t) noexcept {
    int128 total = 0;
    for (int i = 0; i < height_; ++i) {
        const Level& level = levels()[i];
        if (level.digit != system.split(t))
            return false;
        if (level.digit == 0 && level.sum != 0)
            return false;
        const std::int64_t live = level.digit < 0 ? -level.digit : 0;
        int128 terms = 0;
        for (std::int64_t j = 0; j < stack_size_ && i + 1 < height_; ++j) {
            if (j >= live && stack(i)[j] != 0)
                return false; // taken back and forgotten
            terms += stack(i)[j];
        }
        if (live > 0 && terms != level.sum)
            return false;
        total += level.sum;
    }
    return t == 0 && total == total_;
}

} // namespace dp_counter
