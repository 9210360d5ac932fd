// The relation that a statement makes.
//
// Statements name what they make, grant or drop, and no lock keeps a schema from being renamed
// meanwhile: what they have met is looked at afterwards.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Raises object_in_use: the statement has met another relation of this name.
[[noreturn]] void raise_renamed(const char* name);

/// Raises duplicate_table, as CREATE does. Call it right before the statement: an event trigger's
/// function may have made one.
void check_new(const char* name, Oid schema);

/// The relation that this transaction has just made in the schema, or raise_renamed.
[[nodiscard]] Oid new_relation(const char* name, Oid schema);

} // namespace dp_counter::pg
