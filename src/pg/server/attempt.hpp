// Work that may fail while the procedure that runs it goes on.
#pragma once

#include "pg/server/commits.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Where PG_CATCH has caught an error: ends its transaction, begins another one and returns the
/// error, in CurrentMemoryContext. What is for the whole statement (a cancel, a timeout, a
/// shutdown) it raises again.
ErrorData* recover();

/// Runs `work`, which commits as it likes. Returns null or, in CurrentMemoryContext, the error that
/// it raised, as `recover_from` returns it, which begins another transaction.
template <class Work>
[[nodiscard]] ErrorData* caught(ErrorData* (*recover_from)(), const Work& work) {
    MemoryContext caller = CurrentMemoryContext;
    ErrorData* volatile error = nullptr;
    PG_TRY();
    { work(); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller);
        error = recover_from();
    }
    PG_END_TRY();
    return error;
}

/// The same in transactions of its own: after an error its last transaction was rolled back. The
/// caller is connected to SPI with SPI_OPT_NONATOMIC.
template <class Work>
[[nodiscard]] ErrorData* attempt(const Work& work) {
    next_transaction(); // no portal has a snapshot of it
    return caught(recover, work);
}

} // namespace dp_counter::pg
