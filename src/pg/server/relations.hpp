// Relations by their OIDs: whether they exist, whose they are, what the current user may do with
// them.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/acl.h"
}

namespace dp_counter::pg {

/// Raises undefined_table if there is no such relation, and insufficient_privilege if the current
/// user does not have the privilege.
void check_privilege(Oid relation, AclMode privilege);

/// The same for ownership. Members of the owning role, and superusers, have its rights.
void check_owner(Oid relation);

/// The same for ownership or the privilege.
void check_owner_or_privilege(Oid relation, AclMode privilege);

/// Whether check_owner would let the current user pass. The relation exists.
[[nodiscard]] bool is_owner(Oid relation);

/// schema.relation, quoted.
[[nodiscard]] char* quoted_name(Oid relation);

} // namespace dp_counter::pg
