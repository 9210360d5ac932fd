// The histograms of single periods whose bins are the steps of a running total. Mechanism "bins".
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/checked.hpp"
#include "core/count/bins_law.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/releases_table.hpp"

namespace dp_counter::pg {

/// Of one group: the bins of period i have counts[i * apart], counts[i * apart + 1], ...; their
/// releases go to releases[i], releases[i + count], ..., as step first + i. Each period has a
/// stream of its own, drawn whole, of which nothing is kept; a bin is the difference of two of its
/// releases. All of them, and those of other calls, are epsilon-DP together for neighbors whose
/// counts differ by at most `sensitivity` in l1. Memory of `context` is used.
void release_bins(MemoryContext context, const BinsLaw& law, std::int64_t first,
                  const int128* counts, std::size_t apart, std::int64_t count,
                  ClosedRelease* releases);

} // namespace dp_counter::pg
