// Whether a row of a window ties with the one before it.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "windowapi.h"
}

namespace dp_counter::pg {

/// What is remembered of the row before: its ORDER BY columns.
struct TieCheck;

/// For one window function of a query; `query` is memory that lives as long as it does.
[[nodiscard]] TieCheck* open_tie_check(WindowObject window, MemoryContext query);

/// Whether the current row, number `row` of its partition from 0, is equal in ORDER BY to the row
/// of the call before, by the executor's own comparison. Call it at every row; the first of a
/// partition ties with none. Without ORDER BY all rows tie.
///
/// The row before must be at or after the window's mark. (No call of ours fetches it: PostgreSQL
/// does, in majors whose executor was not reviewed.)
[[nodiscard]] bool ties_with_previous(TieCheck* check, std::int64_t row);

} // namespace dp_counter::pg
