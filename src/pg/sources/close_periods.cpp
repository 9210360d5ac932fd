// Closes the periods of a counter over a source: adds up its rows, person by person, within the
// bound.
#include <algorithm>

#include "core/count/first_events.hpp"

#include "pg/sources/source_counter.hpp"

#include "pg/server/progress.hpp"
#include "pg/server/quiet_statistics.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/sources/columns.hpp"
#include "pg/sources/groups.hpp"
#include "pg/sources/periods.hpp"
#include "pg/sources/plain_value.hpp"
#include "pg/sources/reader.hpp"
#include "pg/sources/tallies.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

namespace {

/// The state while the rows come. Trivial.
struct Collector {
    const SourceCounterRow* declared;
    const Schedule* schedule;
    const DuePeriods* due;
    Groups groups;  ///< count 1 where there are none
    Oid value_type; ///< invalid for a count of events
    int128* cells;
    Tallies tallies;
    MemoryContext context; ///< for as long as the rows come
    std::int64_t used;     ///< of the person whose events come
    FirstEvents<> events;
};

/// A transaction closes at most so many cells, or one step: a tick that catches up with years takes
/// no more memory than others.
constexpr std::int64_t kMostCells = 100000;

std::int64_t streams_of(const SourceCounterRow& declared) {
    return declared.by == InvalidAttrNumber
               ? 1
               : ArrayGetNItems(ARR_NDIM(declared.groups), ARR_DIMS(declared.groups));
}

std::int64_t value_of(Oid type, Datum value) {
    switch (type) {
    case INT2OID:
        return DatumGetInt16(value);
    case INT4OID:
        return DatumGetInt32(value);
    default:
        return DatumGetInt64(value);
    }
}

void begin_person(const PlainValue& person, void* context) {
    auto& collector = *static_cast<Collector*>(context);
    collector.used =
        read_tally(collector.tallies, person.bytes(), static_cast<std::size_t>(person.size));
    collector.events.begin(collector.declared->per_person - collector.used);
}

void end_person(void* context) {
    auto& collector = *static_cast<Collector*>(context);
    const std::span<const Event> counted = collector.events.events();
    for (const Event& event : counted)
        collector.cells[event.cell] += event.value;
    write_tally(collector.tallies, collector.used + static_cast<std::int64_t>(counted.size()));
}

void add_event(const SourceEvent& event, void* context) {
    auto& collector = *static_cast<Collector*>(context);
    const std::int32_t group =
        OidIsValid(collector.groups.type) ? find_group(collector.groups, event.group) : 1;
    if (group == 0)
        return; // before the bound, of which it uses nothing
    const std::int64_t* starts = collector.due->starts;
    const std::int64_t* after = std::upper_bound(starts, starts + collector.due->count,
                                                 read_time(*collector.schedule, event.at));
    const std::int64_t step = after - starts - 1;
    const std::int64_t value =
        OidIsValid(collector.value_type)
            ? std::clamp<std::int64_t>(value_of(collector.value_type, event.value), 0,
                                       collector.declared->upper)
            : 1;
    collector.events.add({step * collector.groups.count + group - 1, value}, [&](std::size_t size) {
        return static_cast<Event*>(allocate_secret(collector.context, size * sizeof(Event)));
    });
}

/// Reads the counter's declaration back from its stored form.
void prepare(Collector& collector, Oid counter, const SourceCounterRow& declared) {
    collector.declared = &declared;
    collector.groups = Groups{InvalidOid, 1, nullptr, nullptr};
    if (declared.by != InvalidAttrNumber)
        collector.groups =
            groups_of_counter(counter, declared.groups, column_type(declared.source, declared.by));
    if (declared.value != InvalidAttrNumber)
        collector.value_type = column_type(declared.source, declared.value);
}

/// In `context`, which is the current one.
Closed close_periods(Oid counter, CounterRow& row, TimestampTz called, MemoryContext context) {
    SourceCounterRow declared;
    if (!read_source_counter(counter, declared))
        raise_dropped();
    SourceRow source;
    if (!read_source(declared.source, source))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("the source of counter \"%s\" was dropped", get_rel_name(counter)),
                        errhint("Its releases remain, but it cannot close further steps.")));
    const Schedule schedule{column_type(declared.source, source.at), source.time_zone,
                            declared.since, declared.every, declared.grace};
    std::int64_t last = row.steps + std::max<std::int64_t>(1, kMostCells / streams_of(declared));
    if (row.horizon != kUnbounded)
        last = std::min(last, row.horizon);
    const DuePeriods due = due_periods(schedule, row.steps, last, declared.ended, called);
    if (due.count == 0)
        return Closed::nothing;

    set_progress_subject(counter);
    Collector collector{};
    collector.context = context;
    collector.schedule = &schedule;
    collector.due = &due;
    prepare(collector, counter, declared);
    collector.cells = static_cast<int128*>(allocate_secret(
        collector.context, static_cast<std::size_t>(due.count) *
                               static_cast<std::size_t>(collector.groups.count) * sizeof(int128)));
    (void)GetCurrentTransactionId(); // now: else pg_locks would show when a tally is first updated
    without_statistics([&] {
        open_tallies(collector.tallies, row.number, declared.key, row.steps == 0);
        const SourceQuery query{declared.source,
                                &source,
                                declared.event,
                                declared.value,
                                declared.by,
                                boundary_datum(schedule, due.starts[0]),
                                boundary_datum(schedule, due.starts[due.count])};
        read_persons(query, {begin_person, add_event, end_person, &collector});
        show_phase("storing tallies");
        close_tallies(collector.tallies);
    });
    show_phase("drawing noise");
    close_streams(counter, row,
                  Counted{due.count, collector.groups.count, collector.cells, due.shown, called});
    mark_ended(counter, due.ended);
    if (type_is_enum(collector.groups.type))
        rename_groups(counter, write_groups(collector.groups));
    return row.steps == last && last != row.horizon ? Closed::part : Closed::all;
}

} // namespace

Closed close_source_counter(Oid counter, CounterRow& row, TimestampTz called) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter source", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const Closed closed = close_periods(counter, row, called, context);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return closed;
}

} // namespace dp_counter::pg
