#include "core/accuracy/isotonic_regression.hpp"

#include <type_traits>

namespace dp_counter {

static_assert(std::is_trivially_copyable_v<IsotonicBlock>);
static_assert(alignof(IsotonicBlock) == 8);

double IsotonicBlock::mean() const noexcept {
    // A whole part, exact below 2^53, and a rest below 1: the sum may have more bits than a double.
    const int128 whole = sum() / count_;
    const auto rest = static_cast<std::int64_t>(sum() - whole * count_);
    return static_cast<double>(whole) + static_cast<double>(rest) / static_cast<double>(count_);
}

} // namespace dp_counter
