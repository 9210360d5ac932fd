// What ALTER DEFAULT PRIVILEGES has given or taken away, undone where a privilege means more than
// it says.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Leaves all privileges on a relation that the current user has just made to its owner alone.
void revoke_default_privileges(Oid relation);

} // namespace dp_counter::pg
