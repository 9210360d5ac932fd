// What a worker is asked, in the shared memory with which it is started, and the messages by which
// it answers.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "storage/proc.h"
}

namespace dp_counter::pg {

/// The head of the shared memory; the request follows, and then the queue of the answers.
struct Job {
    std::uint32_t version; ///< of this layout: a session keeps the library that it has loaded
    std::uint32_t queue;   ///< where it begins. These two come first in every version
    std::uint32_t size;    ///< of the request, in bytes
    Oid database;
    Oid caller;  ///< the role that called, by which privileges are checked
    Oid session; ///< the user of its session
    Oid owner;   ///< of the sources: the user of the worker's
    int lock_timeout;
    int leader_pid; ///< of the caller, which leads the worker's lock group
    PGPROC* leader;
};

inline constexpr std::uint32_t kJobVersion = 0x64700002;
inline constexpr Size kQueueBytes = 65536;

inline char* request_of(Job* job) {
    return reinterpret_cast<char*>(job) + MAXALIGN(sizeof(Job));
}

// Kinds of messages, besides PostgreSQL's 'E' (error) and 'N' (notice).
inline constexpr char kAnswer = 'A';      ///< ends a part of the request that went well; with bytes
inline constexpr char kFailed = 'F';      ///< ends one whose error was sent
inline constexpr char kOwnersError = 'V'; ///< the next error is for the owner of the source alone
inline constexpr char kPhase = 'P';       ///< a text for pg_stat_activity
inline constexpr char kDone = 'Z';        ///< all parts are answered

} // namespace dp_counter::pg
