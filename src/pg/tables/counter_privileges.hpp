// What the privileges on a counter's view let a role do with the counter.
#pragma once

#include <optional>

#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/open_counter.hpp"

extern "C" {
#include "storage/lockdefs.h"
}

namespace dp_counter::pg {

/// What a privilege on the view permits.
inline constexpr AclMode kMayRecord = ACL_INSERT; ///< events
inline constexpr AclMode kMayTick = ACL_UPDATE;   ///< close steps

/// Raises what check_privilege or check_owner raises, and then wrong_object_type if the relation is
/// not a counter. In this order: a role without the privilege does not learn which relations are
/// counters.
void check_counter_privilege(Oid counter, AclMode privilege);
void check_counter_owner(Oid counter);

/// Locks the view and the counter, whose owner is checked again after each wait. The caller has
/// called check_counter_owner before, so that nobody else can make others wait.
[[nodiscard]] std::optional<OpenCounter> lock_own_counter(Oid view, LOCKMODE mode);

/// Raises wrong_object_type if the relation is not a counter. Returns whether it has ended.
bool check_is_counter(Oid counter);

} // namespace dp_counter::pg
