// The events of the current transaction, before they are stored.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Hooks into transaction ends; called once by _PG_init.
void initialize_pending_events();

/// Whether this transaction has recorded events of the counter already.
[[nodiscard]] bool has_pending_events(Oid counter);

/// Adds events to a counter, no negative number. They are summed up in this backend's memory and
/// stored once, just before the transaction commits or is prepared; those of a subtransaction that
/// is rolled back are forgotten with it. A transaction stores at most 2^31 - 1 of a counter.
void add_pending_events(Oid counter, std::int64_t events);

} // namespace dp_counter::pg
