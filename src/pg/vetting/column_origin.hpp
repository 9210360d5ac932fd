// What a column of a query depends on, through subqueries, joins and unions.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// Says what is wrong with a node itself, not with those below it; null if nothing is.
using NodeTest = const char* (*)(Node* node);

/// What the test says of the first node that fails it, of those that make the column of the
/// rewritten query out of columns of tables; null if none does.
[[nodiscard]] const char* why_not_column(const Query* query, AttrNumber column, NodeTest test);

/// The same for all that the query evaluates whichever of its columns are read: conditions, joins,
/// groups, policies, and the columns that DISTINCT or UNION read. Passes over these columns.
[[nodiscard]] const char* why_not_conditions(const Query* query, const List* columns,
                                             NodeTest test);

} // namespace dp_counter::pg
