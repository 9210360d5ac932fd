// Groups that a counter gets during its life.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/sources/groups_from.hpp"
#include "pg/tables/counters_table.hpp"

namespace dp_counter::pg {

/// Adds groups to a counter from its next step on, of those in a table the new ones, in a
/// transaction that has locked its source and its view against all others, and the counter. That
/// costs no epsilon: the bound of a person is for all groups together. The streams of a cumulative
/// counter are advanced to its last step with nothing counted. Raises an error for groups that
/// cannot be added.
void add_groups(Oid counter, const CounterRow& row, const WrittenGroups& added);

} // namespace dp_counter::pg
