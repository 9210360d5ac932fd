// What a worker plans: no text of a stranger.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// For the rest of the process's life: to plan a query with a part that belongs to a role which
/// could not act as `owner` (query_owners.hpp), of a function of the owner's too, raises
/// insufficient_privilege. The relations that the planner opens are looked at where it has them,
/// as an index can be created and a partition attached in between; what it computes by then calls
/// no volatile function.
void refuse_texts_of_strangers(Oid owner);

} // namespace dp_counter::pg
