// Where the parts of a block may start.
#pragma once

#include <cstddef>

namespace dp_counter {

/// `bytes` rounded up to a multiple of `alignment`.
[[nodiscard]] constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment) noexcept {
    return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace dp_counter
