// The events of the current transaction, before they are stored.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Hooks into transaction ends; called once by _PG_init.
void initialize_pending_events();

/// Whether this transaction has recorded events of the counter already.
[[nodiscard]] bool has_pending_events(Oid counter);

/// Adds `events` >= 0 events to a counter. This backend's memory holds their sum, which is stored
/// once, just before the transaction commits or is prepared; the events of a rolled back
/// subtransaction are forgotten. A transaction stores at most 2^31 - 1 of a counter.
void add_pending_events(Oid counter, std::int64_t events);

} // namespace dp_counter::pg
