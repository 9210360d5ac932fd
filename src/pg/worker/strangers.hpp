// Whose code runs in a worker: PostgreSQL's own, and that of roles that could act as the owner
// anyway.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// For the rest of the process's life what belongs to another role raises insufficient_privilege:
/// - a function, when it is looked up, whatever calls it, and before it runs: PostgreSQL finds some
///   by an index, a partition or a type, which no query shows.
/// - a query that names a relation, an operator or a type of that role (query_owners.hpp), when it
///   is planned while a view is evaluated, in a function of the owner's too. SQL functions are not
///   inlined: the owner's are planned by themselves.
void refuse_strangers(Oid owner);

} // namespace dp_counter::pg
