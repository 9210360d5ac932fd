// The table of hats: for growing horizons the shapes of the levels, found by
// tools/make_hat_table.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hat/hat_levels.hpp"

namespace dp_counter {

/// Serves the horizons from `from` up to the next entry's.
struct HatTableEntry {
    std::int64_t from;
    std::size_t levels;
    HatShape shape[12];
};

inline constexpr HatTableEntry kHatTable[] = {
#include "core/hat/hat_table.inc"
};

} // namespace dp_counter
