// The columns of a source, and the arguments that name them.
#pragma once

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The type of a column of a view. Raises undefined_column if there is none.
[[nodiscard]] Oid column_type(Oid view, AttrNumber column);

[[nodiscard]] Oid column_collation(Oid view, AttrNumber column);

/// The number of the column of that name. Raises null_value_not_allowed and undefined_column.
[[nodiscard]] AttrNumber read_column(Oid relation, const Argument& argument, const char* parameter);

/// The boolean column that says which rows are events; InvalidAttrNumber for NULL: all are. Raises
/// undefined_column and datatype_mismatch.
[[nodiscard]] AttrNumber read_event_column(Oid source, const Argument& argument);

/// The column `by`, of which the values are groups. Raises the same.
[[nodiscard]] AttrNumber read_group_column(Oid source, const Argument& argument);

} // namespace dp_counter::pg
