// The public side of a counter: the table of its releases, and what it lets a role do.
#pragma once

#include "pg/postgres_api.hpp"

extern "C" {
#include "utils/acl.h"
}

namespace dp_counter::pg {

/// What a privilege on the releases table stands for.
inline constexpr AclMode kMayRecord = ACL_INSERT; ///< events
inline constexpr AclMode kMayTick = ACL_UPDATE;   ///< close steps

/// Prepares check_is_counter; called once by _PG_init.
void initialize_known_counters();

/// Raises undefined_table if there is no such table, insufficient_privilege if the current user
/// does not have the privilege, and wrong_object_type if it is not the releases table of a counter.
/// In this order: a role without the privilege does not learn which tables are counters'.
void check_counter_privilege(Oid releases, AclMode privilege);
void check_counter_owner(Oid releases);

/// The two parts of the former.
void check_privilege(Oid releases, AclMode privilege);
void check_is_counter(Oid releases);

/// Whether the current user is the owner, or has the owner's rights.
[[nodiscard]] bool is_owner(Oid releases);

/// schema.table, quoted.
[[nodiscard]] char* quoted_name(Oid releases);

} // namespace dp_counter::pg
