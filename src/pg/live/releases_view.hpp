// The name of a counter: a view of its releases, which users read and grant.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Makes the view of the releases of the counter with this number, as CREATE VIEW by the current
/// user would: it is his, in a schema in which he may create. Raises what CREATE VIEW raises, and
/// feature_not_supported for a temporary one.
[[nodiscard]] Oid create_releases_view(text* name, std::int32_t number);

/// Drops it as DROP VIEW by the current user would.
void drop_releases_view(Oid view);

} // namespace dp_counter::pg
