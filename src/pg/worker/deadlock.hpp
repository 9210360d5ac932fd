// A deadlock between callers and workers, which PostgreSQL does not see: it does not know that a
// caller waits for its worker.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "postmaster/bgworker.h"
}

namespace dp_counter::pg {

inline constexpr const char* kWorkerType = "dp_counter worker";

/// Also its application_name (settings.cpp), by which others find it.
[[nodiscard]] const char* name_of_worker(int caller);

/// Raises deadlock_detected if this session's worker waits for a lock that this session holds.
void check_deadlock(BackgroundWorkerHandle* worker);

} // namespace dp_counter::pg
