// Whose functions and texts a query contains: those of roles that could act as an owner anyway, or
// a stranger's.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
#include "nodes/pg_list.h"
}

namespace dp_counter::pg {

/// Whether the function's owner has the rights of the role: the role itself, a member of it, a
/// superuser.
[[nodiscard]] bool is_trusted_by(Oid role, Oid function);

/// Whether it is a function of PostgreSQL's that reads a relation which it is told: table_to_xml
/// and its like run whatever a view of that name calls, as no query shows; a partition's constraint
/// is computed where it is asked for; and what gets the definition of a view or a function locks
/// what is in it, which every role sees (all of pg_get_... are taken for such).
[[nodiscard]] bool reads_by_name(Oid function);

/// What a rewritten query has of roles that could not act as an owner.
struct StrangersParts {
    /// As "view odd.feed"; null if there is none. PostgreSQL evaluates it with the owner's rights,
    /// by functions of its own too, whose arguments it chooses. It is
    /// - a view, a foreign table or its server, or a table with policies, with virtual columns, or
    ///   with a partition key that calls what is not built in;
    /// - a function, or an operator, which has others beside the function that it calls (negator,
    ///   estimates);
    /// - a domain, where a value of it is made: its checks are expressions.
    const char* evaluated;
    /// Whether it reads a table of theirs, as a part of another one too, or of which it is a part:
    /// the planner computes expressions of indexes, statistics, constraints and partition keys.
    /// Also what a stranger left on a table that is the owner's now.
    bool has_tables;
    List* functions; ///< that it calls, but for those that are built in and a stranger's
};

/// The relations are locked.
[[nodiscard]] StrangersParts strangers_parts(Node* node, Oid owner);

/// Of a table alone, which the planner has: not of what inherits from it.
[[nodiscard]] StrangersParts strangers_parts(Oid table, Oid owner);

} // namespace dp_counter::pg
