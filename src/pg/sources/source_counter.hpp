// A counter over a source, as counters/ uses it: declare, close, end.
#pragma once

#include <cstdint>

#include "pg/calendar/periods.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/open_counter.hpp"

namespace dp_counter::pg {

/// The number of the counter whose tallies its next tick reads: its own, or that of the one that it
/// continues. It has a source.
[[nodiscard]] std::int64_t number_of_tallies(const OpenCounter& counter);

/// Stores what a new counter counts and charges its epsilon.
void declare_source_counter(Oid counter, std::int64_t number, Numeric epsilon,
                            const SourceDeclaration& declaration);

/// Raises data_corrupted where what the counter's persons have used up is missing: a dump can leave
/// a table out.
void check_has_tallies(const OpenCounter& counter);

/// Locks the source of a counter, if it has one, against DROP and CREATE OR REPLACE. Call it before
/// locking the counter, in the order of DROP VIEW ... CASCADE of the source, to avoid deadlocks.
void lock_source_of(Oid counter);

/// Closes the periods that were over when the tick was called, or the first of them, in a
/// transaction of the tick that has locked the source and the counter.
[[nodiscard]] Closed close_source_counter(OpenCounter& counter, TimestampTz called);

/// Whether the current user may drop a counter that it need not own: an analyst's, not in a
/// copy, for which no tick has begun to read, and whose budget the user may charge.
[[nodiscard]] bool may_take_back(Oid counter);

/// The first period of the counter that is not closed, as find_open_period; false also where it has
/// no source, or its source is gone. Never raises an error.
[[nodiscard]] bool find_open_period(const OpenCounter& counter, TimestampTz now,
                                    OpenPeriod& period);

/// Ends the charge of a counter that closes no further step, where its budget renews, with the last
/// one or, where a tick may have read more, in a copy or before the first step, tomorrow.
void end_charge(const OpenCounter& counter);

/// Deletes its tallies, and their key.
void forget_tallies(std::int64_t number);

/// Both, of one that has closed a step.
void end_source_counter(const OpenCounter& counter);

/// Deletes the tallies of a dropped counter, but those that it has not taken over, or handed over.
/// Its charge ends as above, or is refunded if it never closed a step, is in no copy and, of an
/// analyst's, no tick began to read. `name` is the last one that it had, qualified. The caller has
/// locked the counter of number_of_tallies before any budget.
void drop_source_counter(const OpenCounter& counter, const char* name);

} // namespace dp_counter::pg
