// Which functions and types a view of a source may use: those that return the same in every session
// under the settings that a tick fixes, and run no code other than PostgreSQL's own or C code of an
// extension. (docs/decisions/views.md says why.)
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/nodes.h"
}

namespace dp_counter::pg {

enum class Strictness {
    fixed,    ///< immutable, or stable and reading only the time and fixed settings
    immutable ///< immutable
};

[[nodiscard]] bool is_accepted(Oid function, Strictness strictness);

/// The first function that the node itself calls, not those below it, which is not accepted;
/// InvalidOid if there is none.
[[nodiscard]] Oid unaccepted_function(Node* node, Strictness strictness);

/// The first operator of the node itself that is neither built in nor an extension's, or whose
/// negator or commutator, which the planner may put in its place, calls a function that is not
/// accepted; InvalidOid if there is none.
[[nodiscard]] Oid unaccepted_operator(Node* node);

/// The first support function of the families of the node's operators, or of a family, not in C;
/// InvalidOid if there is none. Indexes, sorts, joins and groups call such functions, and a
/// superuser may have added one.
[[nodiscard]] Oid unaccepted_support(Node* node);
[[nodiscard]] Oid unaccepted_support_of_family(Oid family);

/// Invalid where there is no such function.
[[nodiscard]] Oid language_of(Oid function);

/// Whether functions of pg_catalog that take the type run only accepted functions: those that
/// compare arrays, for example, call the functions of the elements' type.
[[nodiscard]] bool is_accepted_type(Oid type);

} // namespace dp_counter::pg
