// The declared groups of a counter: which stream a value belongs to.
#pragma once

#include <cstdint>

#include <sodium.h>

#include "pg/server/postgres_api.hpp"
#include "pg/tables/open_counter.hpp"

extern "C" {
#include "utils/array.h"
}

namespace dp_counter::pg {

/// So many groups take some hundred MB of memory in a declaration or a tick.
inline constexpr std::int32_t kMostGroups = 1000000;

/// Declared groups, numbered 1, 2, ... as they were declared. Trivial.
struct Groups {
    Oid type;
    std::int32_t count;
    Datum* declared;       ///< values of the type
    std::int32_t* numbers; ///< a hash table of plain bytes, by linear probing; 0: an empty place
    std::uint32_t last;    ///< place of it; the number of places is a power of 2
    unsigned char key[crypto_shorthash_KEYBYTES]; ///< of the hash: no list can be made to collide
    const bool* dropped;                          ///< by their numbers less 1; null: none is

    [[nodiscard]] bool is_dropped(std::int32_t number) const {
        return dropped != nullptr && dropped[number - 1];
    }
};

/// Reads groups written as text or as an integer, in CurrentMemoryContext; keeps pointers to those
/// that are written as the type itself. Raises what the type's input raises,
/// null_value_not_allowed, and invalid_parameter_value if there is none, if there are too many or
/// if one comes twice.
[[nodiscard]] Groups read_groups(ArrayType* written, Oid type);

/// These, and one more at the end for the rows of all others; `name` is a text. Raises what the
/// type's input raises, and invalid_parameter_value if it is one of the groups or one too many.
[[nodiscard]] Groups with_others(const Groups& groups, Datum name);

/// The groups of a counter that has some, as they were declared. Those of an enum come from a
/// constant in the counter's view, where labels follow ALTER TYPE ... RENAME VALUE: as OIDs in this
/// database, by their current names in a dump. Raises object_not_in_prerequisite_state if the view
/// was replaced and no longer has the constant.
[[nodiscard]] Groups groups_of_counter(const OpenCounter& counter);

/// Renumbers them in the order of their plain bytes.
void sort_groups(Groups& groups);

/// Both, `before` first. A group that both have comes once if `is_known_skipped`; else it raises
/// duplicate_object.
[[nodiscard]] Groups join_groups(const Groups& before, const Groups& added, bool is_known_skipped);

/// Raises invalid_parameter_value for too many.
void check_number_of_groups(std::int32_t count);

/// The names of the groups, texts that read_groups would read.
[[nodiscard]] Datum* names_of(const Groups& groups);

/// Puts these groups of an enum into the counter's view in place of its own, as the owner of the
/// view, who is the current user. Raises what groups_of_counter raises.
void replace_groups(Oid counter, const Groups& before, const Groups& groups);

/// An SQL expression of dp_counter_private.published: a release's group.
[[nodiscard]] const char* sql_of_group(const Groups& groups);

/// The number of the value's group, or 0; 0 also if it was dropped. That of `others` is found by
/// its own name alone.
[[nodiscard]] std::int32_t find_group(const Groups& groups, Datum value);

} // namespace dp_counter::pg
