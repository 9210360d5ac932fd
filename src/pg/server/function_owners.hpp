// Whose code may run in a worker: PostgreSQL's own, and that of roles that could act as the owner
// anyway.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Whether the function's owner has the rights of the role: the role itself, a member of it, a
/// superuser.
[[nodiscard]] bool is_trusted_by(Oid role, Oid function);

/// For the rest of the process's life: looking up any other function of another role raises
/// insufficient_privilege, whatever calls it. Functions of PostgreSQL such as text || mood or
/// jsonb_agg find casts, comparisons and output functions by type, which no plan shows; whoever
/// owns a type could otherwise run code as the owner of a view that reads it. The planner computes
/// constant calls, also in an index or a constraint of a stranger's table: one whose result is of
/// any type, such as populate_record of hstore, raises the same, as the type's domains have checks.
void refuse_functions_of_strangers(Oid owner);

/// Whether the planner runs, which query_owners.cpp knows.
extern bool is_planning;

} // namespace dp_counter::pg
