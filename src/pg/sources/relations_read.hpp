// Which relations a view reads.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The OIDs of the relations that a view reads at any depth, itself among them: what their rules
/// and policies name and, of tables, the partitions and children.
[[nodiscard]] List* relations_read(Oid view);

/// One of these relations that the view reads; invalid if there is none.
[[nodiscard]] Oid first_read(Oid view, const List* relations);

} // namespace dp_counter::pg
