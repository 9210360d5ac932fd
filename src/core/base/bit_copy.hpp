// std::bit_cast, which GCC 10 (Debian 11) does not have.
#pragma once

#include <cstring>
#include <type_traits>

namespace dp_counter {

template <class To, class From>
[[nodiscard]] inline To bit_copy(const From& from) noexcept {
    static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
                  std::is_trivially_copyable_v<From>);
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

} // namespace dp_counter
