// The tick of one counter.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "datatype/timestamp.h"
}

namespace dp_counter::pg {

/// Why ticks commit: the detail of their check_can_commit.
inline constexpr const char* kWhyTicksCommit =
    "A tick commits, since a release that was seen and then rolled back would be drawn again.";

/// Whether the relation exists and the current user may tick it.
[[nodiscard]] bool may_tick(Oid counter);

/// Closes the steps that were due when the procedure was called, publishes them, tells listeners
/// and says so in a NOTICE, in transactions of its own. Returns null or, in CurrentMemoryContext,
/// the error that has ended it and that it has stored for those who may tick the counter. Raises a
/// cancel, a timeout or a shutdown.
///
/// If `is_alone`, the call is for this counter: of an event counter it says why no step is closed.
[[nodiscard]] ErrorData* tick_counter(Oid counter, TimestampTz called, bool is_alone);

} // namespace dp_counter::pg
