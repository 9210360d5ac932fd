#include "pg/events/event_counter.hpp"

#include "pg/events/events_table.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/streams_table.hpp"

namespace dp_counter::pg {

void declare_event_counter(Oid counter) {
    create_event_slots(counter);
}

void close_event_counter(Oid counter, CounterRow& row, TimestampTz called) {
    StreamRow stored;
    read_stream(row.number, 1, stored);
    const int128 events = total_events(counter) - stored.total;
    close_streams(counter, row, Counted{1, 1, &events, nullptr, called});
}

void end_event_counter(Oid counter) {
    drop_event_slots(counter);
}

} // namespace dp_counter::pg
