// Whose relations, functions, operators and types a query names: those of roles that could act as
// an owner anyway, or a stranger's.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace dp_counter::pg {

/// Whether the function's owner could act as the role: the role itself, a member of it, also with
/// NOINHERIT, a superuser.
[[nodiscard]] bool is_trusted_by(Oid role, Oid function);

/// Whether it is a function of PostgreSQL's that reads a relation which it is told: table_to_xml
/// and its like run whatever a view of that name calls, as no query shows; a partition's constraint
/// is computed where it is asked for; and what gets the definition of a view or a function, or
/// whether it is updatable, locks what is in it, which every role sees (all of pg_get_... are taken
/// for such).
[[nodiscard]] bool reads_by_name(Oid function);

/// What a rewritten query names first of a role that could not act as the owner, as "table
/// ehr.visits"; null if there is nothing. Its relations are locked, but for partitions. Whoever
/// runs the query evaluates
/// - of a table, or another one that is a part of it or that it is a part of, what its owner has
///   written into indexes, statistics, constraints, partition keys, policies and columns;
/// - of a view or a foreign table, its query or its server;
/// - of an operator, others beside the function that it calls: its negator, its estimates;
/// - of a type, of any value but those of columns that are not read, its casts and a domain's
///   checks; and locks a composite type's relation where there is a value.
[[nodiscard]] const char* strangers_part(Node* query, Oid owner);

} // namespace dp_counter::pg
