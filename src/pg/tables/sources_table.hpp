// The declared sources: views, and which of their columns are the person and the time of a row.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A row of dp_counter_private.sources. Columns are numbers, so that they may be renamed.
struct SourceRow {
    std::int64_t budget_number;
    Oid budget; ///< invalid where its view is lost
    AttrNumber person;
    AttrNumber at;
    char* time_zone;
    bool person_wise; ///< its owner vouches for it; where the budget renews, for window_wise
    bool window_wise;
    List* never_fails; ///< the columns for which the owner vouches that they raise no error
};

/// Locks the source to the end of the transaction: shared to add a counter to it, exclusive to
/// declare or drop it.
void lock_source(Oid source, bool exclusive);

/// False also where the view is gone, which leaves no trace if its query has used a temporary type.
[[nodiscard]] bool read_source(Oid source, SourceRow& row);

/// The source's row. Raises wrong_object_type if the relation is not a source.
SourceRow require_source(Oid relation);

/// Stores what a declaration can change: the person's column, the name of the time zone, and for
/// what the owner vouches.
void update_source(Oid source, const SourceRow& row);

/// Their OIDs, also of those whose views are gone.
[[nodiscard]] List* all_sources();

void insert_source(Oid source, const SourceRow& row);

/// Deletes the row, and what reports have released; false if there is none.
bool delete_source(Oid source);

/// Raises dependent_objects_still_exist where the counters of a source are charged to the budget of
/// this name.
void check_charges_no_source(std::int64_t budget, const char* name);

} // namespace dp_counter::pg
