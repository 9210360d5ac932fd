// Calls a worker: a session of the owner's own, in which a source is read.
//
// The caller's session, with its search path, settings, temporary objects and compiled functions,
// never reaches the owner's view, and the view reaches the caller's session by nothing but the
// answers.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

struct WorkerCall {
    const char* entry; ///< the exported function that calls serve (serve.hpp)
    Oid procedure;     ///< the SQL procedure that was called: it names the library
    Oid owner;         ///< of the sources that are read
    const void* request;
    Size size; ///< of the request, in bytes
};

/// What a worker answers to a part of its request. The errors last as the caller's memory does, the
/// bytes until `answered` returns.
struct Answer {
    ErrorData* error; ///< null if it went well
    ErrorData*
        owners_error;  ///< what the caller, who is the source's owner, is told instead; or null
    const char* bytes; ///< as given to answer()
    Size size;
};

/// Starts a worker and waits until it has ended; calls answered(answer, context) for each answer,
/// in a transaction that is committed after it. The caller is connected to SPI with
/// SPI_OPT_NONATOMIC; its transaction is committed before the wait. Messages of the worker are
/// raised as this session's.
///
/// A cancel, a timeout or the end of this session ends the worker first. Raises
/// insufficient_resources if no worker can be started, and deadlock_detected if the worker waits
/// for a lock of this session. Returns null or, in CurrentMemoryContext, why the worker has ended
/// before all was answered.
[[nodiscard]] ErrorData* call_worker(const WorkerCall& call,
                                     void (*answered)(const Answer& answer, void* context),
                                     void* context);

} // namespace dp_counter::pg
