// Which k-ary tree to take: the one with the least mean squared error for a horizon and an epsilon.
// The choice is a function of public values, the same on every machine.
#pragma once

#include <cstdint>

#include "core/noise/privacy_unit.hpp"
#include "core/tree/offset_digits.hpp"

namespace dp_counter {

/// The best of digits(2), digits(3), ..., whose radices rise, by the exact error over all of them:
/// of DigitSystem::plain, of DigitSystem::offset, or of those with an even radix.
/// Ties go to the lower height, then to the smaller radix. 1 <= horizon <= kMaxHorizon.
[[nodiscard]] DigitSystem choose_tree(DigitSystem (*digits)(std::int32_t number),
                                      std::int64_t horizon, PrivacyUnit unit);

} // namespace dp_counter
