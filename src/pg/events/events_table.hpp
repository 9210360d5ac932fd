// The events of all counters, durable: how many have ever been recorded.
//
// No sum overflows: there are fewer than 2^64 transactions, and one adds less than 2^31 events.
//
// A counter has some rows ("slots"), each with a running total; their sum is the number of events
// of all committed transactions, in whatever snapshot it is taken, and it never falls. A tick does
// not change the slots: it subtracts what the counter has counted before. A recorder adds to a slot
// that no other open transaction has changed, so recorders never wait, neither for each other nor
// for a tick. The table keeps its size: rows are updated in place (HOT), and what a tick reads does
// not depend on the number of events.
#pragma once

#include <cstdint>

#include "core/base/checked.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Creates the slots of a new counter, and deletes those that dropped counters have left behind.
void create_event_slots(std::int64_t number);

/// Adds `events` >= 0 events in the current transaction, unless the counter has no slots. Zero
/// events leave the same traces as any other number.
void add_events(std::int64_t number, std::int32_t events);

/// The events of all transactions committed by now. Raises data_corrupted if the counter has no
/// slots.
[[nodiscard]] int128 total_events(std::int64_t number);

/// Deletes the slots of a counter that was dropped or has ended, except one that another open
/// transaction has changed: create_event_slots deletes it later. What it records is lost.
void drop_event_slots(std::int64_t number);

} // namespace dp_counter::pg
