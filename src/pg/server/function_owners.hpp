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
/// owns a type could otherwise run code as the owner of a view that reads it. SQL
/// functions are not inlined: the owner's are planned by themselves, and looked at there.
void refuse_functions_of_strangers(Oid owner);

} // namespace dp_counter::pg
