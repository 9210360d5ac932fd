// A counter that reads a source, as counters/ sees it: declare, close, end. The verbs are those of
// events/event_counter.hpp.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/counters_table.hpp"

namespace dp_counter::pg {

/// Stores what a new counter counts, charges its epsilon to the source's budget, and says in the
/// view's COMMENT what is promised.
void declare_source_counter(Oid counter, std::int32_t number, Numeric epsilon,
                            const SourceDeclaration& declaration);

/// Locks the source of a counter, if it has one, against DROP and CREATE OR REPLACE. Before the
/// counter, as DROP VIEW of the source with CASCADE does: two orders could wait for each other.
void lock_source_of(Oid counter);

/// Closes the periods that were over when the tick was called, or the first of them, in a
/// transaction of the tick that has locked the source and the counter.
[[nodiscard]] Closed close_source_counter(Oid counter, CounterRow& row, TimestampTz called);

/// Deletes what is kept of a counter that is dropped, and gives its epsilon back if no step of it
/// was ever closed.
void end_source_counter(Oid counter, const CounterRow& row);

} // namespace dp_counter::pg
