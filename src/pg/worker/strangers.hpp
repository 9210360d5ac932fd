// Whose code runs in a worker: PostgreSQL's own, and that of roles that could act as the owner
// anyway.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// For the rest of the process's life what belongs to another role raises insufficient_privilege:
/// - a function, when it is looked up, whatever calls it, and before it runs. Functions of
///   PostgreSQL such as text || mood or jsonb_agg find casts, comparisons and output functions by
///   type, which no plan shows; whoever owns a type could otherwise run code as the owner of a view
///   that reads it.
/// - a query that names a relation, an operator or a domain of that role (query_owners.hpp), when
///   it is planned, in a function of the owner's too. SQL functions are not inlined: the owner's
///   are planned by themselves.
void refuse_strangers(Oid owner);

} // namespace dp_counter::pg
