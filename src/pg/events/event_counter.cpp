#include "pg/events/event_counter.hpp"

#include "pg/events/events_table.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/streams_table.hpp"

namespace dp_counter::pg {

Closed close_event_counter(OpenCounter& counter, TimestampTz called) {
    CounterRow& row = counter.row;
    if (row.has_every && called < next_step_due(row.steps, row.released_at, row.every)) {
        ereport(NOTICE,
                (errmsg("counter \"%s\" closes no step: the last one was closed less than %s ago",
                        name_of_relation(counter.view), text_of(row.every))));
        return Closed::nothing;
    }
    StreamRow stored;
    read_stream(row.number, 1, stored);
    const int128 events = total_events(row.number) - stored.total;
    close_streams(row, Counted{1, 1, 1, &events, 0, nullptr, called});
    return Closed::all;
}

} // namespace dp_counter::pg
