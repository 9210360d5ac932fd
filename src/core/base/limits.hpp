// The limits of streams and trees, to which every mechanism and every caller keeps.
#pragma once

#include <cstdint>

namespace dp_counter {

inline constexpr std::int32_t kMinRadix = 2;
inline constexpr std::int32_t kMaxRadix = 65535;
inline constexpr std::int64_t kMaxHorizon = std::int64_t{1} << 62;
inline constexpr std::int64_t kUnbounded = 0; ///< a stream that goes on: in epochs (epochs.hpp)
inline constexpr int kMaxHeight = 63;         ///< radix 2, horizon 2^62

} // namespace dp_counter
