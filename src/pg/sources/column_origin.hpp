// What a column of a query depends on, through subqueries, joins and unions.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/attnum.h"
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// Null if the column of the rewritten query is an immutable expression of columns of tables: if it
/// were not, two ticks could see one person as two, or one row in two periods. Otherwise the
/// reason, as the detail of an error.
[[nodiscard]] const char* why_not_immutable(const Query* query, AttrNumber column);

} // namespace dp_counter::pg
