// Relations by their OIDs: whether they exist, whose they are, what the current user may do with
// them.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/acl.h"
}

namespace dp_counter::pg {

/// Raises undefined_table if there is no such relation.
void check_exists(Oid relation);

/// The same, and raises insufficient_privilege if the current user does not have the privilege.
void check_privilege(Oid relation, AclMode privilege);

/// Whether there is such a view.
[[nodiscard]] bool is_view(Oid relation);

/// Raises insufficient_privilege for an existing relation.
[[noreturn]] void raise_denied(Oid relation);

/// As check_privilege, for ownership. Members of the owning role, and superusers, have its rights.
void check_owner(Oid relation);

/// The same for ownership or the privilege.
void check_owner_or_privilege(Oid relation, AclMode privilege);

/// Whether check_owner, or check_owner_or_privilege, would let the current user pass. The relation
/// exists.
[[nodiscard]] bool is_owner(Oid relation);
[[nodiscard]] bool is_owner_or_may(Oid relation, AclMode privilege);

/// Whether the role may create relations in the schema.
[[nodiscard]] bool may_create_in(Oid schema, Oid role);

/// Who owns it. Raises undefined_table.
[[nodiscard]] Oid owner_of(Oid relation);

/// Its name, for a message. Raises undefined_table: a relation that was there may have been dropped
/// when anything that waits, or looks up another one, has been called since.
[[nodiscard]] char* name_of_relation(Oid relation);

/// schema.relation, quoted. Raises undefined_table.
[[nodiscard]] char* quoted_name(Oid relation);

/// The function's schema, quoted. Raises undefined_function if it was dropped meanwhile, by a
/// function that the same statement calls.
[[nodiscard]] const char* quoted_schema_of_function(Oid function);

/// The name as a regclass is shown: with the schema where the search path needs it.
[[nodiscard]] char* shown_name(Oid relation);

} // namespace dp_counter::pg
