// From decimal numbers, as declared, to the binary ones that mechanisms compute with.
#pragma once

#include <string_view>

namespace dp_counter {

/// The largest double that is not above `decimal`, which has digits with a point or without one,
/// and nothing else, and is zero or at least 1e-300: what is charged for an epsilon is then never
/// less than what the mechanism spends. Infinity if no double is as large.
[[nodiscard]] double largest_double_not_above(std::string_view decimal);

} // namespace dp_counter
