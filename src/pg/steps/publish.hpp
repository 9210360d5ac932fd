// The second transaction of a tick: closed steps become visible.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"

extern "C" {
#include "access/xlogdefs.h"
}

namespace dp_counter::pg {

/// Shows everybody the counter's steps up to row.steps, the last of which was committed at
/// `closed_at`; if another tick closed it (InvalidXLogRecPtr), waits for synchronous standbys once
/// more. Raises operator_intervention unless they have it: the next tick tries again.
void publish(const CounterRow& row, XLogRecPtr closed_at);

} // namespace dp_counter::pg
