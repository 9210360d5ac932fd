// What the planner itself calls as it plans a query over a table: with constants for arguments, an
// immutable function in an index, a partition key or extended statistics is evaluated there, as
// whoever plans. (CHECK constraints are not looked at where constraint_exclusion is off.)
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
