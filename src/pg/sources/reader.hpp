// One evaluation of a source's view, as its owner, in an order by persons.
//
// It runs in a security-restricted operation, as REFRESH MATERIALIZED VIEW does, with the settings
// that an expression could read fixed, and those of the caller's that would show what is going on
// put back. Statistics stand still. No statement that the caller can see runs, and what goes wrong
// in the view reaches nobody but its owner with its detail.
#pragma once

#include <cstdint>

#include "pg/server/postgres_api.hpp"
#include "pg/sources/plain_value.hpp"
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

/// An event of a person: a row for which `event` holds, and whose value and group are not NULL.
/// Trivial.
struct SourceEvent {
    Datum at;
    Datum value;
    Datum group;
};

/// What takes the persons. Of each: begin, its events, end; a person may have no event. `begin` and
/// `end` run in the memory context of who reads, `event` in one that is reset after each row.
struct PersonConsumer {
    void (*begin)(const PlainValue& person, void* context);
    void (*event)(const SourceEvent& event, void* context);
    void (*end)(void* context);
    void* context;
};

/// Raises feature_not_supported where the view, one that it reads or a policy of its tables calls
/// what is not accepted (view_calls.hpp). read_persons asks again.
void check_source_calls(Oid source, const SourceRow& row);

/// Hands all persons that have a row to the consumer, one after the other, as of the active
/// snapshot. Raises object_not_in_prerequisite_state where the view does not keep the guarantee by
/// itself any more, calls what is not accepted, or in a session with temporary objects.
void read_persons(const SourceQuery& query, const PersonConsumer& consumer);

} // namespace dp_counter::pg
