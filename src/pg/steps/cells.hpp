// Numbers that are each released once: the periods of a counter that is not cumulative, the cells
// of a histogram. Mechanism "laplace".
#pragma once

#include <cstdint>

#include "core/accuracy/average_interval.hpp"
#include "core/base/checked.hpp"
#include "core/noise/privacy_unit.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/releases_table.hpp"

namespace dp_counter::pg {

/// Raises invalid_parameter_value for a unit whose noise is out of range.
void check_cells(const PrivacyUnit& unit);

/// releases[i] is counts[i] plus discrete Laplace noise of its own of scale sensitivity / epsilon,
/// as step first + i. All of them, and those of other calls, are epsilon-DP together for neighbors
/// whose counts differ by at most `sensitivity` in l1.
void release_cells(const PrivacyUnit& unit, std::int64_t first, const int128* counts,
                   std::int64_t count, ClosedRelease* releases);

/// The 95 % interval of the share that `above` has of both, two cells of this unit.
[[nodiscard]] ShareInterval share_of_cells(const PrivacyUnit& unit, std::int64_t above,
                                           std::int64_t below);

} // namespace dp_counter::pg
