// What no Laplace factorisation can do better than.
#pragma once

#include <cstdint>

#include "core/noise/privacy_unit.hpp"

namespace dp_counter {

/// At most the mean squared error of any mechanism A x + L z, A = L R, of this horizon whose noise
/// z is independent Laplace noise: continuous, or discrete on lattices that hold R's entries. From
/// the greatest certified horizon (lower_bound_table.inc) that is not above this one, since fewer
/// steps are no harder (docs/derivation.md, section 10). No bound on other noise, on answers that
/// are not linear, or on private counting as such.
[[nodiscard]] double laplace_lower_bound(std::int64_t horizon, PrivacyUnit unit) noexcept;

} // namespace dp_counter
