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
/// null_value_not_allowed, and invalid_parameter_value where there is none or one comes twice.
[[nodiscard]] Groups read_groups(ArrayType* written, Oid type);

/// The groups of a counter, as they were declared; `written` is how they are stored. Of an enum
/// they are those of the constant in the counter's view: there labels follow ALTER TYPE ... RENAME
/// VALUE, in this database as the OIDs that rows hold, in a dump as what they are called then.
/// Raises object_not_in_prerequisite_state where the view was replaced and does not have it any
/// more.
[[nodiscard]] Groups groups_of_counter(Oid counter, ArrayType* written, Oid type);

/// As `read_groups` reads them again.
[[nodiscard]] ArrayType* write_groups(const Groups& groups);

/// An SQL expression: an array of them.
[[nodiscard]] char* sql_of_groups(const Groups& groups);

/// The number of the value's group, or 0.
[[nodiscard]] std::int32_t find_group(const Groups& groups, Datum value);

} // namespace dp_counter::pg
