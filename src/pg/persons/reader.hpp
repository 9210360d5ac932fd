// Evaluates a source's view once, as its owner, ordered by person.
//
// It runs in a worker of the owner's (src/pg/worker), as REFRESH MATERIALIZED VIEW would, but read
// only; nothing that the server counts or logs shows the number of rows. Only the owner sees the
// details of an error in the view.
#pragma once

#include "pg/server/plain_value.hpp"
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
    Timestamp from; ///< on the face of the time: rows at `from` or later
    Timestamp to;   ///< and before `to`
};

/// An event of a person: a row for which `event` holds, and whose value and group are not NULL.
/// Trivial.
struct SourceEvent {
    Datum at;
    Datum value;
    Datum group;
};

/// Receives the persons. For each: begin, its events, end; a person may have no event. The events
/// come in the order of their times, and those of one time by group and value. The person given to
/// `begin` is good until the next one. `begin` and `end` run in the caller's memory context,
/// `event` in one that is reset after each row.
struct PersonConsumer {
    void (*begin)(const PlainValue& person, void* context);
    void (*event)(const SourceEvent& event, void* context);
    void (*end)(void* context);
    void* context;
};

/// Raises object_not_in_prerequisite_state if the view is no longer simple, unless its owner
/// vouches for it.
void check_still_simple(Oid source, const SourceRow& row);

/// In a worker of the source's owner: hands all persons that have a row to the consumer, one after
/// the other, as of the active snapshot. Raises object_not_in_prerequisite_state if the view is no
/// longer simple, if it calls what is not accepted, and for every error in the view.
void read_persons(const SourceQuery& query, const PersonConsumer& consumer);

/// Whether a view was evaluated in this session: from then on its owner's functions may have left
/// something there, and nobody else's run.
[[nodiscard]] bool has_read_persons();

} // namespace dp_counter::pg
