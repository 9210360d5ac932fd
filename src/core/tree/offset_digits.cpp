#include "core/tree/offset_digits.hpp"

#include <algorithm>

namespace dp_counter {

std::int64_t DigitSystem::capacity(int height) const noexcept {
    int128 total = 0; // highest * (1 + k + k^2 + ...), by Horner's rule
    for (int i = 0; i < height && total < kMaxHorizon; ++i)
        total = total * radix_ + highest();
    return static_cast<std::int64_t>(std::min<int128>(total, kMaxHorizon));
}

int DigitSystem::height(std::int64_t horizon) const noexcept {
    int height = 1;
    while (capacity(height) < horizon)
        ++height;
    return height;
}

} // namespace dp_counter
