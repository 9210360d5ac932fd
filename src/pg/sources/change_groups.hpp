// Groups that a counter gets and loses during its life.
#pragma once

#include "pg/server/postgres_api.hpp"
#include "pg/sources/groups_from.hpp"
#include "pg/tables/open_counter.hpp"

extern "C" {
#include "utils/array.h"
}

namespace dp_counter::pg {

/// Adds groups to a counter from its next step on, of those in a table the new ones, in a
/// transaction that has locked its source and its view against all others, and the counter. That
/// costs no epsilon: the bound of a person is for all groups together. The streams of a cumulative
/// counter are advanced to its last step with nothing counted. Raises an error for groups that
/// cannot be added.
void add_groups(const OpenCounter& counter, const WrittenGroups& added);

/// Releases these groups no longer, from the counter's next step on, under the same locks. Their
/// releases stay, and their rows are those of groups that are not declared. Of a cumulative counter
/// their states go. Raises undefined_object for a group that the counter does not have, and
/// invalid_parameter_value where no group is left.
void drop_groups(const OpenCounter& counter, ArrayType* written);

} // namespace dp_counter::pg
