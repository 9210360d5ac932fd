// One evaluation of a source's view, as its owner, in an order by persons.
//
// It runs in a security-restricted operation, as REFRESH MATERIALIZED VIEW does, with the settings
// that an expression could read fixed, and those of the caller's that would show what is going on
// put back. Statistics stand still. No statement that the caller can see runs, and what goes wrong
// in the view reaches nobody but its owner with its detail.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/tables/sources_table.hpp"

namespace dp_counter::pg {

/// What is read of each row. Columns are numbers; 0 where there is none.
struct SourceQuery {
    Oid source;
    const SourceRow* row;
    AttrNumber event;
    AttrNumber value;
    AttrNumber by;
    Datum from; ///< of the type of the time: rows at `from` or later
    Datum to;   ///< and before `to`
};

/// A row with a person and a time; trivial.
struct SourceEvent {
    Datum person;
    Datum at;
    bool is_event; ///< `event` holds, and neither value nor group is NULL
    Datum value;
    Datum group;
};

using SourceConsumer = void (*)(const SourceEvent& event, void* context);

/// Raises object_not_in_prerequisite_state where a function is volatile in the view, or in one that
/// it reads.
void check_source_is_stable(Oid source);

/// Hands every row to `consume`, all those of a person together, as of the active snapshot. Raises
/// object_not_in_prerequisite_state where the view does not keep the guarantee by itself any more,
/// or in a session with temporary objects.
void read_source_rows(const SourceQuery& query, SourceConsumer consume, void* context);

} // namespace dp_counter::pg
