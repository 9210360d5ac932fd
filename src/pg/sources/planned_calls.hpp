// What PostgreSQL itself calls as it plans or reads a table: what compares the columns of an index,
// and, with constants for arguments, an immutable function in an index, a partition key or extended
// statistics. (CHECK constraints are not looked at where constraint_exclusion is off.)
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/rel.h"
}

namespace dp_counter::pg {

/// Null if all that is called so is accepted. Otherwise what is in the way, as the detail of an
/// error.
[[nodiscard]] const char* why_not_planned(Relation table);

} // namespace dp_counter::pg
