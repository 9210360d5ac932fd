// The names of the groups of counters, as text, by the number of the group: 1, 2, ...
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Stores the names of the groups first, first + 1, ...; each is a text.
void insert_groups(std::int64_t number, std::int32_t first, const Datum* names, std::int32_t count);

/// The groups of a counter, by number less 1. Trivial.
struct StoredGroups {
    Datum* names;
    const bool* dropped; ///< null where none was
};

/// Its groups 1 .. count, in CurrentMemoryContext. Raises data_corrupted if the counter has others.
[[nodiscard]] StoredGroups read_stored_groups(std::int64_t number, std::int32_t count);

/// Marks a group as dropped: it has no further release.
void drop_group(std::int64_t number, std::int32_t group);

/// Stores the names of the groups 1 .. count where they are others now.
void rename_groups(std::int64_t number, const Datum* names, std::int32_t count);

} // namespace dp_counter::pg
