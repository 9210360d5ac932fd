// Whose texts a query in a worker may contain: those of roles that could act as the owner anyway.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "nodes/parsenodes.h"
}

namespace dp_counter::pg {

/// What in the rewritten query belongs to a role that could not act as `owner`, as "view odd.feed":
/// a view, the policies or the computed columns of a table, an operator, a function. Null if
/// nothing does. PostgreSQL's own functions run with the rights of whoever reads such a text, which
/// chooses their arguments, and their relations by security_invoker; an operator has others beside
/// the function that it calls (negator, commutator, estimates).
[[nodiscard]] const char* strangers_part(Query* query, Oid owner);

/// For the rest of the process's life: to plan a query with such a part raises
/// insufficient_privilege, in functions of the owner's too. So do the texts that the planner finds
/// by itself, such as a partial index's on a table of a stranger's, where they could run one's
/// code: by an operator of a stranger's, or by a function whose result is of any type, to which the
/// checks of a domain belong.
void refuse_texts_of_strangers(Oid owner);

} // namespace dp_counter::pg
