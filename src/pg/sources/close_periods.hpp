// The closing of the periods of a counter with a source: what its rows add, person by person within
// the bound.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/source_counters_table.hpp"

namespace dp_counter::pg {

/// Closes all periods that were over when the tick was called, in its first transaction, which has
/// locked the source and the counter. False if there is none.
[[nodiscard]] bool close_periods(Oid releases, CounterRow& row, const SourceCounterRow& counter,
                                 TimestampTz called);

} // namespace dp_counter::pg
