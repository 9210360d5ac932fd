// What synchronous standbys have of this server's WAL.
//
// A commit that waits for them can be cancelled: it is then committed here, with a warning, and
// lost if one of them takes over. What must outlive that asks here.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/xlogdefs.h"
}

namespace dp_counter::pg {

/// Whether they have flushed the WAL up to here, as far as this transaction's commit would wait for
/// any.
[[nodiscard]] bool standbys_have(XLogRecPtr end);

/// Waits until they have flushed all that is on this server's disk, and says whether they have: the
/// wait can be cancelled.
[[nodiscard]] bool await_standbys();

} // namespace dp_counter::pg
