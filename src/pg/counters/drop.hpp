// Drops a counter.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Deletes all that is kept of a counter and drops its view, as the current user, which may.
void drop_counter(Oid counter);

} // namespace dp_counter::pg
