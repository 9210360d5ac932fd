// The stored counters: the parameters of each, and how far it has come.
#pragma once

#include <cstdint>

#include "core/count/counter_state.hpp"
#include "pg/server/postgres_api.hpp"

extern "C" {
#include "datatype/timestamp.h"
#include "utils/numeric.h"
}

namespace dp_counter::pg {

/// A row of dp_counter_private.counters. Trivial: lives in PostgreSQL's memory.
struct CounterRow {
    std::int32_t number;  ///< its own for ever, in the table of releases
    std::int64_t horizon; ///< kUnbounded where it has none
    std::int64_t steps;   ///< closed
    bool has_every;
    Interval every; ///< the least time between two steps, if it has one
    // Of the last closed step; of meaning if steps > 0.
    TimestampTz released_at;
    double stddev;
};

/// Takes the lock that whoever changes the counter holds to the end of the transaction. What is
/// read after it is the last committed row.
void lock_counter(Oid counter);

/// Recorders ask this, so no statistic counts it; the others are used by ticks, which are public.
[[nodiscard]] bool is_counter(Oid counter);

/// Reads the row; false if there is none. The caller has an active snapshot.
[[nodiscard]] bool read_counter(Oid counter, CounterRow& row);

/// A number that no counter of this database has had, whether it came into being or not.
[[nodiscard]] std::int32_t next_counter_number();

/// Stores a counter at step 0. Raises unique_violation if there is one.
/// `epsilon` is that of the request, as it was declared; `every` is null where there is none.
void insert_counter(Oid counter, std::int32_t number, Numeric epsilon, const Request& request,
                    const MechanismSpec& spec, const Interval* every);

/// Stores closed steps: all of `row`, and the parameters of the epoch that the last belongs to.
void update_counter(Oid counter, const MechanismSpec& spec, const CounterRow& row);

/// Deletes the row if there is one.
void delete_counter(Oid counter);

} // namespace dp_counter::pg
