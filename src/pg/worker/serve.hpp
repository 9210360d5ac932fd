// A worker: a session of its own, of a source's owner, in which the owner's view is evaluated.
//
// session_user is the owner; current_user, by whom privileges are checked, is the role that called.
// No settings but the server's and the database's, and those that keep it quiet (settings.hpp). One
// worker serves one owner, and ends: what one owner's functions leave behind meets no other
// owner's.
#pragma once

#include "pg/server/attempt.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// What an entry point, an exported function of the name in WorkerCall::entry, does: connects,
/// hands the request to `work` in a transaction, connected to SPI with SPI_OPT_NONATOMIC, and tells
/// the caller that it is done. `work` answers each part, by answer() or answer_error().
void serve(Datum main_argument, void (*work)(const char* request, Size size));

/// Whether this process is a worker, and whether it is one of this owner's.
[[nodiscard]] bool is_worker();
[[nodiscard]] bool serves(Oid owner);

/// Sends the caller a message.
void send(char kind, const void* bytes, Size size);

/// Ends a part of the request: it went well, or with this error. Errors and messages are logged by
/// the caller alone.
void answer(const void* bytes, Size size);
void answer_error(ErrorData* error);

/// Sends the caller, who owns the source, what the next answer's error was in detail.
void tell_owner(ErrorData* error);

/// Where PG_CATCH has caught the error of a part: begins another transaction, connected to SPI, and
/// returns the error in CurrentMemoryContext.
[[nodiscard]] ErrorData* recover_in_worker();

/// Runs a part of the request, which commits as it likes. Returns null or, in CurrentMemoryContext,
/// its error: then its last transaction was rolled back.
template <class Work>
[[nodiscard]] ErrorData* attempt_in_worker(const Work& work) {
    return caught(recover_in_worker, work);
}

} // namespace dp_counter::pg

/// Declares and exports an entry point of workers.
#define DP_WORKER(name)                                                                            \
    extern "C" {                                                                                   \
    PGDLLEXPORT void name(Datum main_argument);                                                    \
    }                                                                                              \
    void name(Datum main_argument)
