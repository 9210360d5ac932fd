// Procedures that commit what must not be rolled back.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Raises invalid_transaction_termination, with this detail, unless the procedure was CALLed where
/// it may commit.
void check_can_commit(FunctionCallInfo fcinfo, const char* procedure, const char* detail);

/// Commits and starts a transaction that will be flushed, to synchronous standbys as well, and that
/// sees at every statement what has been committed by then, whatever the session's defaults are.
/// For who is connected to SPI with SPI_OPT_NONATOMIC.
void next_transaction();

} // namespace dp_counter::pg
