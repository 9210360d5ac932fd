// Which functions and types a view of a source may use: those that give the same answer in every
// session in which a tick fixes the settings, and run no code of anybody's but PostgreSQL's own or
// an extension's, in C. (docs/decisions/views.md says why.)
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace dp_counter::pg {

enum class Strictness {
    fixed,    ///< immutable, or of those stable ones that read the time and fixed settings alone
    immutable ///< immutable
};

[[nodiscard]] bool is_accepted(Oid function, Strictness strictness);

/// The first function that the node itself calls, not those below it, which is not accepted;
/// InvalidOid if there is none.
[[nodiscard]] Oid unaccepted_function(Node* node, Strictness strictness);

/// The first operator of the node itself that is neither built in nor an extension's, or in whose
/// place the planner may put one, its negator or commutator, that calls what is not accepted;
/// InvalidOid if there is none.
[[nodiscard]] Oid unaccepted_operator(Node* node);

/// Indexes, sorts, joins and groups call what supports an operator's family, and this may be a
/// superuser's. The first such function that is not in C; InvalidOid if there is none.
[[nodiscard]] Oid unaccepted_support(Oid operation);
[[nodiscard]] Oid unaccepted_support_of_family(Oid family);

/// Whether functions of pg_catalog that take the type run no function that is not accepted: those
/// that compare arrays, say, call what their elements' type brings along.
[[nodiscard]] bool is_accepted_type(Oid type);

} // namespace dp_counter::pg
