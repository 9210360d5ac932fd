// Closes the periods of a counter over a source: adds up its rows, person by person, within the
// bound.
#include <algorithm>
#include <cstring>
#include <limits>

#include <sodium.h>

#include "core/count/own_window.hpp"
#include "core/count/person_bound.hpp"

#include "pg/sources/source_counter.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/calendar/time_zones.hpp"
#include "pg/persons/columns.hpp"
#include "pg/persons/groups.hpp"
#include "pg/persons/reader.hpp"
#include "pg/persons/tallies.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/quiet_statistics.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/sources/analyst.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/sources/reattach.hpp"
#include "pg/sources/source_history.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"
#include "pg/worker/progress.hpp"

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
    BudgetUnit unit;
    Groups groups;  ///< count 1 where there are none
    Oid value_type; ///< invalid for a count of events
    int128* cells;
    Tallies tallies;       ///< of a counter with a bound; of another the key alone
    MemoryContext context; ///< for as long as the rows come
    PlainValue person;     ///< whose events come
    std::int32_t phase;
    PersonBound bound{BoundRule{}};

    [[nodiscard]] bool has_bound() const { return declared->per_person != 0; }
    [[nodiscard]] bool counts_persons() const {
        return declared->measure.kind == MeasureKind::persons;
    }

    // What PersonBound calls. A group below 0 is one that is not declared.
    void count(std::int64_t step, std::int64_t group, std::int64_t value) {
        const Measure& measure = declared->measure;
        if (group < 0)
            group = declared->others;
        int128* cell = &cells[(step * groups.count + group - 1) * measure.streams()];
        if (measure.kind == MeasureKind::histogram) {
            ++cell[value];
            return;
        }
        if (!measure.is_average()) {
            *cell += value;
            return;
        }
        cell[0] += value - measure.lower;
        cell[1] += measure.upper - value;
    }
    [[nodiscard]] std::uint64_t rank(std::int64_t time, const Event& event) const;
    [[nodiscard]] Event* allocate(std::size_t n) const {
        return static_cast<Event*>(allocate_secret(context, n * sizeof(Event)));
    }
};

/// A transaction closes at most so many cells, or one step: a tick that catches up with years takes
/// no more memory than others.
constexpr std::int64_t kMostCells = 100000;

std::int64_t streams_of(const SourceCounterRow& declared) {
    const std::int64_t groups = declared.by == InvalidAttrNumber ? 1 : declared.groups;
    return groups * declared.measure.streams();
}

/// SHA-256 of the key of the tallies and all that the order may depend on, so that SQL can compute
/// it in a test.
std::uint64_t Collector::rank(std::int64_t time, const Event& event) const {
    crypto_hash_sha256_state state;
    unsigned char digest[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256_init(&state);
    (void)crypto_hash_sha256_update(&state, tallies.key, kTallyKeyBytes);
    for (const std::int64_t number : {time, event.group, event.value, event.copy}) {
        const std::uint64_t bytes = pg_hton64(static_cast<std::uint64_t>(number));
        (void)crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(&bytes),
                                        sizeof(bytes));
    }
    (void)crypto_hash_sha256_update(&state, person.bytes(),
                                    static_cast<unsigned long long>(person.size));
    (void)crypto_hash_sha256_final(&state, digest);
    std::uint64_t rank = 0;
    std::memcpy(&rank, digest, sizeof(rank));
    return pg_ntoh64(rank);
}

void begin_person(const PlainValue& person, void* context) {
    auto& collector = *static_cast<Collector*>(context);
    const auto bytes = static_cast<std::size_t>(person.size);
    collector.person = person;
    if (collector.unit.per_days != 0)
        collector.phase = person_phase(collector.unit, person.bytes(), bytes);
    collector.bound.begin(collector.has_bound()
                              ? read_tally(collector.tallies, person.bytes(), bytes)
                              : Tally{kNoWindow, 0});
}

void end_person(void* context) {
    auto& collector = *static_cast<Collector*>(context);
    const Tally tally = collector.bound.end(collector);
    if (collector.has_bound())
        write_tally(collector.tallies, tally);
}

/// The period of a time in the counter's life; below 0 before it.
std::int64_t step_of(const Collector& collector, Timestamp time) {
    const DuePeriods& due = *collector.due;
    if (time < due.starts[0])
        return collector.counts_persons() ? early_period(*collector.schedule, time) : -1;
    return std::upper_bound(due.starts, due.starts + due.count, time) - due.starts - 1;
}

/// The group of an event. An undeclared one, if it counts among all others, has a keyed digest
/// below 0: the order of events of one time is by their values, and not by the group in which they
/// count. 0 if it does not count.
std::int64_t group_of(const Collector& collector, Datum value) {
    static_assert(crypto_shorthash_BYTES == 8 && crypto_shorthash_KEYBYTES <= kTallyKeyBytes);
    if (!OidIsValid(collector.groups.type))
        return 1;
    const std::int32_t group = find_group(collector.groups, value);
    if (group != 0 || collector.declared->others == 0)
        return group;
    PlainValue plain{};
    read_plain(collector.groups.type, value, plain);
    std::int64_t digest = 0;
    (void)crypto_shorthash(reinterpret_cast<unsigned char*>(&digest), plain.bytes(),
                           static_cast<unsigned long long>(plain.size), collector.tallies.key);
    return digest | std::numeric_limits<std::int64_t>::min();
}

/// Of a histogram the bin.
std::int64_t counted_value(const Measure& measure, std::int64_t value) {
    return measure.kind == MeasureKind::histogram ? measure.bin_of(value)
                                                  : std::clamp(value, measure.lower, measure.upper);
}

void add_event(const SourceEvent& event, void* context) {
    auto& collector = *static_cast<Collector*>(context);
    const std::int64_t group = group_of(collector, event.group);
    if (group == 0)
        return; // before the bound, of which it uses nothing
    const std::int64_t value =
        OidIsValid(collector.value_type)
            ? counted_value(collector.declared->measure,
                            measured_value(collector.value_type, event.value))
            : 1;
    const Timestamp time = read_time(*collector.schedule, event.at);
    const std::int64_t window =
        collector.unit.per_days == 0
            ? 0
            : own_window(day_of(time), collector.phase, collector.unit.per_days);
    collector.bound.add({time, window, step_of(collector, time), group, value}, collector);
}

/// Reads the counter's declaration back from its stored form.
void prepare(Collector& collector, Oid counter, std::int64_t number,
             const SourceCounterRow& declared) {
    take_tally_key(collector.tallies, declared.key);
    collector.groups = Groups{InvalidOid, 1, nullptr, nullptr, nullptr};
    if (declared.by != InvalidAttrNumber)
        collector.groups = groups_of_counter(counter, number, declared.groups,
                                             column_type(declared.source, declared.by));
    if (declared.measure.column != InvalidAttrNumber)
        collector.value_type = column_type(declared.source, declared.measure.column);
}

/// The first own window of any person in which an event can come at this boundary or later.
std::int32_t first_open_window(const Collector& collector, Timestamp boundary) {
    const std::int32_t per = collector.unit.per_days;
    if (per == 0)
        return kNoWindow;
    // Window w of the greatest phase ends with day (w + 2) * per - 1.
    return static_cast<std::int32_t>(floor_quotient(day_of(boundary) + 1, per) - 1);
}

/// Reads the due periods into cells and tallies. Before its first step a counter that continues
/// another one also reads what comes after that, for the tallies alone. Any other one whose budget
/// renews reads one `per` before: otherwise the bound of every person would be unused when it
/// begins, and its first numbers would be higher than all later ones.
void count_rows(Collector& collector, const SourceRow& source, std::int64_t number, bool is_first) {
    const SourceCounterRow& declared = *collector.declared;
    const Schedule& schedule = *collector.schedule;
    const DuePeriods& due = *collector.due;
    const Predecessor& old = declared.old;
    const bool takes_over = is_first && old.number != 0;
    Timestamp from = takes_over ? old.end : due.starts[0];
    const std::int32_t was_first = first_open_window(collector, from);
    const std::int32_t first = first_open_window(collector, due.starts[due.count]);
    if (collector.has_bound()) {
        if (takes_over)
            take_over_tallies(old.number, number, old.per_person, declared.per_person);
        check_tallies(number);
        open_tallies(collector.tallies, number, first, is_first && !takes_over);
        if (is_first && !takes_over && collector.unit.per_days != 0)
            from = days_before(from, collector.unit.per_days);
    }
    if (from < due.starts[0] && collector.counts_persons())
        (void)early_period(schedule, from); // may raise an error: here, so that no row decides it
    const SourceQuery query{declared.source, &source, declared.event,       declared.measure.column,
                            declared.by,     from,    due.starts[due.count]};
    read_persons(query, {begin_person, add_event, end_person, &collector});
    show_phase("storing tallies");
    if (collector.has_bound()) {
        close_tallies(collector.tallies);
        if (first > was_first && (!is_first || takes_over))
            delete_earlier_tallies(number, first);
    }
}

/// What no number of the counter can be below.
std::int64_t least_of(const Measure& measure) {
    const bool is_signed = measure.kind == MeasureKind::sum && measure.lower < 0;
    return is_signed ? std::numeric_limits<std::int64_t>::min() : 0;
}

/// In `context`, which is the current one.
Closed close_periods(Oid counter, CounterRow& row, TimestampTz called, MemoryContext context) {
    SourceCounterRow declared;
    if (!read_source_counter(counter, declared))
        raise_dropped();
    SourceRow source;
    if (!read_source(declared.source, source))
        raise_source_dropped(counter);
    const Schedule schedule{column_type(declared.source, source.at), source.time_zone,
                            declared.since, declared.every, declared.grace};
    std::int64_t last = row.steps + std::max<std::int64_t>(1, kMostCells / streams_of(declared));
    if (row.horizon != kUnbounded)
        last = std::min(last, row.horizon);
    const DuePeriods due = due_periods(schedule, row.steps, last, declared.ended, called);
    if (due.count == 0)
        return Closed::nothing;
    check_never_fails(declared, source, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
    if (declared.analyst && !declared.begun) {
        // Committed before a row is read: an analyst cannot take back what a failure may show.
        mark_begun(counter);
        return Closed::marked;
    }

    const EntryRange charged = range_of_counter(row.number);
    if (row.horizon == kUnbounded ? charged.until != DT_NOEND
                                  : due.starts[due.count - 1] - USECS_PER_DAY >= charged.until)
        raise_damaged("the charge of the counter has ended");
    clamp_periods(due, charged.since, charged.until);

    set_progress_subject(counter);
    Collector collector{};
    collector.declared = &declared;
    collector.context = context;
    collector.schedule = &schedule;
    collector.due = &due;
    collector.unit = unit_of_source(source);
    collector.bound = PersonBound({declared.per_person, collector.counts_persons()});
    prepare(collector, counter, row.number, declared);
    collector.cells = static_cast<int128*>(allocate_secret(
        collector.context,
        static_cast<std::size_t>(due.count) * static_cast<std::size_t>(collector.groups.count) *
            static_cast<std::size_t>(declared.measure.streams()) * sizeof(int128)));
    (void)GetCurrentTransactionId(); // now: else pg_locks would show when a tally is first updated
    book_source(declared.source, source);
    without_statistics([&] { count_rows(collector, source, row.number, row.steps == 0); });
    show_phase("drawing noise");
    close_streams(counter, row,
                  Counted{due.count, collector.groups.count, declared.measure.streams(),
                          collector.cells, least_of(declared.measure), due.shown, called,
                          collector.groups.dropped,
                          declared.measure.kind == MeasureKind::histogram});
    mark_ended(counter, due.ended,
               digest_of_offsets(source.time_zone, declared.since, collector.unit.per_days),
               remembered_of(declared, source));
    if (type_is_enum(collector.groups.type))
        rename_groups(row.number, names_of(collector.groups), collector.groups.count);
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
