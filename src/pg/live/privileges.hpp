// What the privileges on the view of its releases let a role do with a counter, and what it owns.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/acl.h"
}

namespace dp_counter::pg {

/// What a privilege on the view stands for.
inline constexpr AclMode kMayRecord = ACL_INSERT; ///< events
inline constexpr AclMode kMayTick = ACL_UPDATE;   ///< close steps

/// Prepares check_is_counter; called once by _PG_init.
void initialize_known_counters();

/// Raises undefined_table if there is no such relation, insufficient_privilege if the current user
/// does not have the privilege, and wrong_object_type if it is not a counter's. In this order: a
/// role without the privilege does not learn which relations are counters'.
void check_counter_privilege(Oid releases, AclMode privilege);
void check_counter_owner(Oid releases);

/// The parts of these. For owners pass who has their rights: members, superusers.
void check_privilege(Oid releases, AclMode privilege);
void check_owner(Oid relation);
void check_is_counter(Oid releases);

/// Whether check_owner would let the current user pass. The relation exists.
[[nodiscard]] bool is_owner(Oid relation);

/// schema.view, quoted.
[[nodiscard]] char* quoted_name(Oid releases);

} // namespace dp_counter::pg
