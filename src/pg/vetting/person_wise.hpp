// Simple views, which can be sources without their owner vouching for them.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Null if the view is simple: each of its rows follows from one row of one table, and from nothing
/// else in the database, so that deleting a person's rows from the table removes these rows from
/// the view and changes no other. (One table, or such a view of one, expressions and filters on its
/// columns, of functions that are declared immutable, or are PostgreSQL's own and read no data.)
/// Otherwise the reason, as the detail of an error; of a table, whether such a view may read it.
/// The relation is locked.
[[nodiscard]] const char* why_not_person_wise(Oid relation);

} // namespace dp_counter::pg
