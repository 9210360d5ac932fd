// Whose functions and texts a query contains: those of roles that could act as an owner anyway, or
// a stranger's.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace dp_counter::pg {

/// Whether the function's owner has the rights of the role: the role itself, a member of it, a
/// superuser.
[[nodiscard]] bool is_trusted_by(Oid role, Oid function);

/// Whether it is a function of PostgreSQL's that reads a relation which it is told: table_to_xml
/// and its like run whatever a view of that name calls, as no query shows; a partition's constraint
/// is computed where it is asked for.
[[nodiscard]] bool reads_by_name(Oid function);

/// What in a rewritten query, or in an expression, belongs to a role that could not act as `owner`,
/// as "view odd.feed"; null if nothing does. PostgreSQL evaluates it with the owner's rights, by
/// functions of its own too, whose arguments it chooses. It is
/// - a view, a foreign table, or a table with policies or virtual columns;
/// - a function, or an operator, which has others beside the function that it calls (negator,
///   estimates);
/// - a domain, where a value of it is made: its checks are expressions;
/// - an expression of a table that is read (in an index, statistics, a constraint or a partition
///   key), which the planner computes or evaluates by itself. It may call functions of PostgreSQL
///   and of superusers, if their result is not of any type, to which domains belong.
/// The relations are locked.
[[nodiscard]] const char* strangers_part(Node* node, Oid owner);

} // namespace dp_counter::pg
