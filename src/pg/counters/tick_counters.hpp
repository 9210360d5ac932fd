// Ticks many counters, one after the other, and goes on past those that fail.
#pragma once

#include "pg/counters/tick.hpp"

namespace dp_counter::pg {

/// Why ticks commit: the detail of their check_can_commit.
inline constexpr const char* kWhyTicksCommit =
    "A tick commits, since a release that was seen and then rolled back would be drawn again.";

/// Whether the relation exists and the current user may tick it.
[[nodiscard]] bool may_tick(Oid counter);

/// Ticks the counters: event counters in this session, those over sources in a worker of each
/// source's owner. Calls failed(counter, error, context) for each that fails, with the error that
/// the caller may know; it is stored for those who may tick the counter. A NOTICE says what was
/// released. `procedure` is the one that was called; the caller is connected to SPI with
/// SPI_OPT_NONATOMIC. Returns how many were ticked, failed or not: not those that were dropped or
/// ended meanwhile, or are no longer the caller's. Raises a cancel, a timeout or a shutdown, and
/// insufficient_resources where no worker is free.
[[nodiscard]] int tick_counters(Oid procedure, const List* counters, const TickCall& call,
                                void (*failed)(Oid counter, ErrorData* error, void* context),
                                void* context);

} // namespace dp_counter::pg
