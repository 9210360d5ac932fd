// The published releases of all counters: one table, of which every counter has a view.
#pragma once

#include <cstdint>

#include "pg/live/counters_table.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Publishes the release of the last step in `row`, as part of the current transaction.
void insert_release(const CounterRow& row);

/// Deletes all releases of the counter with this number.
void delete_releases(std::int32_t number);

} // namespace dp_counter::pg
