// The name of a counter or budget: a view of its rows in the extension's tables, which users read
// and grant.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Makes the view of those rows of dp_counter_private.`rows` whose first column is `number`, with
/// the other columns, as CREATE VIEW by the current user would: it is his, in a schema in which he
/// may create. Raises what CREATE VIEW raises, and feature_not_supported for a temporary one.
[[nodiscard]] Oid create_view_of(text* name, const char* rows, std::int32_t number);

/// Drops it as DROP VIEW by the current user would.
void drop_view(Oid view);

} // namespace dp_counter::pg
