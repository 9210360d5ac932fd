// Groups as a call names them: in an array, or in a column of a table.
#pragma once

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Trivial.
struct WrittenGroups {
    Argument array; ///< of text or an integer type; NULL where no groups are named
    Oid table;      ///< from which they come; invalid where they were written as an array
};

/// Reads the arguments groups, groups_from and groups_column. A table is read here, once, as a
/// SELECT of the current user would, in the order of its values. Raises what that raises;
/// invalid_parameter_value if only one of the latter two is given, or they together with groups;
/// wrong_object_type unless the relation is a plain or partitioned table; undefined_column.
[[nodiscard]] WrittenGroups read_written_groups(const Argument& groups, const Argument& table,
                                                const Argument& column);

/// Raises invalid_parameter_value if the groups come from a table that the source reads, also
/// through other views, or from a part of one, or a table that it is a part of: which groups there
/// are would depend on secret rows.
void check_not_read(const WrittenGroups& groups, Oid source);

} // namespace dp_counter::pg
