// The declared groups of a counter: which stream a value belongs to.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/sources/plain_value.hpp"

extern "C" {
#include "utils/array.h"
}

namespace dp_counter::pg {

/// Declared groups, numbered 1, 2, ... as they were declared. Trivial.
struct Groups {
    struct Entry {
        PlainValue value;
        std::int32_t number;
    };

    Oid type;
    std::int32_t count;
    Entry* sorted;
    Datum* declared; ///< values of the type
};

/// Reads groups written as text, in CurrentMemoryContext. Raises what the type's input raises,
/// null_value_not_allowed, and invalid_parameter_value if there is none or one comes twice.
[[nodiscard]] Groups read_groups(ArrayType* written, Oid type);

/// The groups of a counter, as they were declared; `written` is how they are stored. The groups of
/// an enum come from the constant in the counter's view, where labels follow ALTER TYPE ... RENAME
/// VALUE: as OIDs in this database, by their current names in a dump. Raises
/// object_not_in_prerequisite_state if the view was replaced and no longer has the constant.
[[nodiscard]] Groups groups_of_counter(Oid counter, ArrayType* written, Oid type);

/// Both, `before` first. Raises duplicate_object where they have a group in common.
[[nodiscard]] Groups join_groups(const Groups& before, const Groups& added);

/// The groups as text, as read_groups reads them.
[[nodiscard]] ArrayType* write_groups(const Groups& groups);

/// Puts these groups into the counter's view in place of its own, as the owner of the view, who is
/// the current user. Raises what groups_of_counter raises for an enum, for any type.
void replace_groups(Oid counter, const Groups& before, const Groups& groups);

/// An SQL expression: an array of them.
[[nodiscard]] char* sql_of_groups(const Groups& groups);

/// The number of the value's group, or 0.
[[nodiscard]] std::int32_t find_group(const Groups& groups, Datum value);

} // namespace dp_counter::pg
