// What a view of a source calls: every function, operator, cast, aggregate and comparison in it, in
// the views that it reads, and in the policies of their tables.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/attnum.h"
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// Null if the rewritten query, with all views and policies expanded, calls only what is accepted,
/// and its columns `person` and `at` are immutable. Otherwise the reason, as the detail of an
/// error.
[[nodiscard]] const char* why_not_accepted(Query* query, AttrNumber person, AttrNumber at);

} // namespace dp_counter::pg
