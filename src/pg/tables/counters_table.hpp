// The stored counters: the parameters of each, and how far it has come.
#pragma once

#include <cstdint>
#include <optional>

#include "core/count/counter_state.hpp"
#include "pg/server/place.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// A row of dp_counter_private.counters. Trivial: lives in PostgreSQL's memory.
struct CounterRow {
    std::int64_t number;  ///< never used again; the key of other tables
    std::int64_t horizon; ///< kUnbounded where it has none
    std::int64_t steps;   ///< closed
    bool cumulative;      ///< else each release counts its own period
    Numeric epsilon;
    std::int64_t sensitivity; ///< of box noise the most blocks that a unit changes
    text* mechanism;          ///< and k, 0 where it is chosen: of the epoch of the last closed step
    std::int32_t k;
    std::int32_t block; ///< of box and anchored noise the steps of a block, its k; else 0
    bool is_anchored;   ///< the noise in blocks is anchored
    bool is_in_totals;  ///< a histogram in totals along its bins, of which there are k
    bool has_every;
    Interval every; ///< the least time between two steps, if it has one
    // Of the last closed step; valid if steps > 0.
    TimestampTz released_at;
    double stddev;
    bool has_failed; ///< its last tick
    bool has_ended;  ///< by dp_counter_end: it closes no further step
    Place place;     ///< where it was created or resumed

    /// Whether its noise has a state.
    [[nodiscard]] bool has_streams() const { return cumulative || block != 0; }
};

/// Whether a counter has ended; nothing where the relation is no counter. Statistics do not count
/// these, since recorders call them; ticks, which are public, call the others.
[[nodiscard]] std::optional<bool> find_ended(Oid counter);
[[nodiscard]] std::optional<bool> find_ended_numbered(std::int64_t number);

/// The number of the counter that has this view, also of one that this command has dropped; 0 if
/// there is none.
[[nodiscard]] std::int64_t number_of_counter(Oid counter);

/// The counter with this number; invalid if there is none, or its view is lost.
[[nodiscard]] Oid counter_numbered(std::int64_t number);

/// Reads the row into CurrentMemoryContext; false if there is none.
[[nodiscard]] bool read_counter(std::int64_t number, CounterRow& row);

/// A number that no counter, budget or entry has, or had, wherever a role with pg_write_all_data
/// has set the sequence. Its lock, by which others pass over it, have_number gives back.
[[nodiscard]] std::int64_t next_number();

/// Once a row has the number.
void have_number(std::int64_t number);

/// The noise of a counter that is not cumulative, as SQL calls it, and its k; 0: none.
struct NoiseOfPeriods {
    const char* name;
    std::int32_t k;
};

/// What the counter's noise is made for. Raises invalid_parameter_value.
[[nodiscard]] PrivacyUnit privacy_of(const CounterRow& row);

/// Stores a counter at step 0, here. Raises unique_violation if there is one. `epsilon` is the
/// declared number; `every` is null if there is none. `spec` is null for a counter that is not
/// cumulative, which has `noise`.
void insert_counter(Oid counter, std::int64_t number, Numeric epsilon, const Request& request,
                    const MechanismSpec* spec, const NoiseOfPeriods& noise, const Interval* every);

/// Stores closed steps: all of `row`, and the parameters of the epoch that the last belongs to;
/// `spec` as above.
void update_counter(const MechanismSpec* spec, const CounterRow& row);

/// Stores that a tick failed, unless another session has the counter's lock: then its tick says how
/// the counter is. Statistics, which everybody may read, do not count it.
void store_failure(Oid counter, TimestampTz at, int sqlstate);

/// Stores that a tick after one that failed did not.
void forget_failure(std::int64_t number);

/// The OIDs of all counters whose views are there, in the order in which they were made, in
/// CurrentMemoryContext.
[[nodiscard]] List* all_counters();

/// Raises object_not_in_prerequisite_state.
[[noreturn]] void raise_ended(Oid counter, const char* hint);

/// Stores that it lives in this database.
void move_counter_here(std::int64_t number);

/// Stores that it has ended now, and forgets a failure of its last tick.
void mark_counter_ended(std::int64_t number);

} // namespace dp_counter::pg
