// What a view of a source may call: what is not volatile. The person and the time are immutable.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// Null if the rewritten query, with all views and policies expanded, calls no volatile function
/// and locks no rows; and its columns `person` and `at` are immutable expressions of columns of
/// tables: if they were not, two ticks could see one person as two, or one row in two periods.
/// Otherwise the reason, as the detail of an error. What functions are declared to be is believed.
[[nodiscard]] const char* why_not_accepted(Query* query, AttrNumber person, AttrNumber at);

} // namespace dp_counter::pg
