// Functions that PostgreSQL itself calls when it plans a query or reads a table: those that compare
// the columns of an index, and immutable functions with constant arguments in an index, a partition
// key or extended statistics. (It evaluates no CHECK constraint while constraint_exclusion is off.)
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/rel.h"
}

namespace dp_counter::pg {

/// Null if all these functions are accepted. Otherwise the reason, as the detail of an error.
[[nodiscard]] const char* why_not_planned(Relation table);

} // namespace dp_counter::pg
