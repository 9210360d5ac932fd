// Durable commits of procedures: flushed to disk and to synchronous standbys.
//
// If the wait for standbys is canceled, the transaction is committed on this server, with a
// warning, but lost if a standby takes over. standbys_have shows whether the standbys have it.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/xlogdefs.h"
}

namespace dp_counter::pg {

/// Raises invalid_transaction_termination, with this detail, unless the procedure was CALLed where
/// it may commit.
void check_can_commit(FunctionCallInfo fcinfo, const char* procedure, const char* detail);

/// Commits and starts a transaction that will be flushed, to synchronous standbys as well, and that
/// sees at every statement what has been committed by then, whatever the session's defaults are.
/// The caller is connected to SPI with SPI_OPT_NONATOMIC. Says whether synchronous standbys have
/// what was committed, if it had a transaction id and waited for them: the wait can be canceled.
bool next_transaction();

/// Whether the error that was caught was raised by the commit itself; to be asked once.
[[nodiscard]] bool has_failed_to_commit();

/// Whether synchronous standbys have flushed the WAL up to here, as far as this transaction's
/// commit would wait for any.
[[nodiscard]] bool standbys_have(XLogRecPtr end);

/// Waits until they have flushed all that is on this server's disk, and says whether they have: the
/// wait can be canceled.
[[nodiscard]] bool await_standbys();

} // namespace dp_counter::pg
