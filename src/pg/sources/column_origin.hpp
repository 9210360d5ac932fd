// What a column of a query follows from, through subqueries, joins and unions.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/attnum.h"
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// Null if the column of the rewritten query is an immutable expression of columns of tables: else
/// two ticks could take a person for two, or a row for one of two periods. Otherwise what is in the
/// way, as the detail of an error.
[[nodiscard]] const char* why_not_immutable(const Query* query, AttrNumber column);

} // namespace dp_counter::pg
