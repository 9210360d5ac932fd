// Whether what a counter evaluates may raise an error for some rows.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

/// Null if a counter over these columns of the source, the person and the time raises no error
/// whatever the rows are: it evaluates nothing but functions that never fail (never_failing.hpp),
/// and what the owner vouches for with never_fails. Otherwise the reason, as the detail of an
/// error. Evaluates nothing; locks what the view reads.
[[nodiscard]] const char* why_may_fail(Oid source, const SourceRow& row, const AttrNumber* columns,
                                       int count);

} // namespace dp_counter::pg
