// Closes the periods of a counter over a source: adds up its rows, person by person, within the
// bound.
#include <algorithm>
#include <cstring>
#include <limits>

#include <sodium.h>

#include "core/count/active_path.hpp"
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
#include "pg/server/secret_memory.hpp"
#include "pg/sources/analyst.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/sources/reattach.hpp"
#include "pg/sources/source_history.hpp"
#include "pg/sources/touched_periods.hpp"
#include "pg/steps/closing.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/sources_table.hpp"
#include "pg/worker/progress.hpp"

extern "C" {
#include "access/xact.h"
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
    // Of active persons, whose cells are stocks: what changes with each step, until all are read.
    ActivePath path{{}, {}};
    Timestamp from;      ///< the first time that the tick reads
    Timestamp* begins;   ///< of the last days before the end of each step
    Tally active;        ///< the person's
    bool is_read;        ///< whether an event of this tick was the person's
    Timestamp uncovered; ///< that event, the last one, if its group is not known yet

    [[nodiscard]] bool has_bound() const { return declared->per_person != 0; }
    [[nodiscard]] bool counts_persons() const {
        return declared->measure.kind == MeasureKind::persons;
    }

    [[nodiscard]] int128& cell(std::int64_t step, std::int64_t group) const {
        return cells[(step * groups.count + group - 1) * declared->measure.streams()];
    }
    /// The stocks of a person who has an event at this time, or had.
    void cover(Timestamp time, std::int32_t group) {
        if (group < 1 || group > groups.count)
            raise_damaged("the group of a person of the counter is damaged");
        path.cover(time, group, [&](std::int64_t of, std::int64_t first, std::int64_t end, int n) {
            cell(first, of) += n;
            if (end < due->count)
                cell(end, of) -= n;
        });
    }

    // What PersonBound calls. A group below 0 is one that is not declared.
    void count(std::int64_t step, std::int64_t group, std::int64_t value) {
        const Measure& measure = declared->measure;
        if (group < 0)
            group = declared->others;
        if (declared->active != 0) { // the first event of a window
            active.group = static_cast<std::int32_t>(group);
            return;
        }
        int128* numbers = &cell(step, group);
        if (measure.kind == MeasureKind::histogram) {
            ++numbers[value];
            return;
        }
        if (!measure.is_average()) {
            *numbers += value;
            return;
        }
        numbers[0] += value - measure.lower;
        numbers[1] += measure.upper - value;
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
    if (collector.declared->active != 0) {
        collector.active = read_tally(collector.tallies, person.bytes(), bytes);
        collector.is_read = false;
        collector.bound.begin({collector.active.window, 1}); // the window has its first event
        return;
    }
    collector.bound.begin(collector.has_bound()
                              ? read_tally(collector.tallies, person.bytes(), bytes)
                              : Tally{kNoWindow, 0});
}

void end_person(void* context) {
    auto& collector = *static_cast<Collector*>(context);
    if (collector.declared->active != 0) {
        (void)collector.bound.end(collector);
        if (collector.is_read)
            collector.cover(collector.uncovered, collector.active.group);
        write_tally(collector.tallies, collector.active);
        return;
    }
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
    static_assert(crypto_shorthash_KEYBYTES <= kTallyKeyBytes);
    if (!OidIsValid(collector.groups.type))
        return 1;
    const std::int32_t group = find_group(collector.groups, value);
    if (group != 0 || collector.declared->others == 0)
        return group;
    PlainValue plain{};
    read_plain(collector.groups.type, value, plain);
    const auto digest = static_cast<std::int64_t>(hash_plain(plain, collector.tallies.key));
    return digest | std::numeric_limits<std::int64_t>::min();
}

/// Of a histogram the bin.
std::int64_t counted_value(const Measure& measure, std::int64_t value) {
    return measure.kind == MeasureKind::histogram ? measure.bin_of(value)
                                                  : std::clamp(value, measure.lower, measure.upper);
}

/// Of an active person, who is in the group of the first event of the last one's own window. Those
/// without an event in the tick are counted by their tallies (count_others).
void add_active(Collector& collector, const TimedEvent& event) {
    Tally& active = collector.active;
    const bool is_first = !collector.is_read;
    if (is_first) {
        collector.path.begin();
        if (active.window != kNoWindow)
            collector.cover(active.used, active.group);
        collector.is_read = true;
    }
    collector.bound.add(event, collector); // now the group at the time before is known
    if (!is_first && event.time != collector.uncovered)
        collector.cover(collector.uncovered, active.group);
    active.used = active.window == kNoWindow ? event.time : std::max(active.used, event.time);
    active.window = std::max(active.window, event.window);
    collector.uncovered = event.time;
}

/// The stocks of those who have no event in the tick. Kept is who is active at the last end:
/// another event of the own window, which would keep the group, is less than `per`, and so than
/// `active`, after the last one, and can no longer come.
bool count_others(const Tally& tally, void* context) {
    auto& collector = *static_cast<Collector*>(context);
    if (tally.used < collector.from) {
        collector.path.begin();
        collector.cover(tally.used, tally.group);
    }
    return tally.used >= collector.begins[collector.due->count - 1];
}

bool is_open(const Tally& tally, void* context) {
    return tally.window >= *static_cast<const std::int32_t*>(context);
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
    if (collector.declared->active != 0)
        add_active(collector, {time, window, 0, group, value});
    else
        collector.bound.add({time, window, step_of(collector, time), group, value}, collector);
}

/// Reads the counter's declaration back from its stored form.
void prepare(Collector& collector, const OpenCounter& counter) {
    const SourceCounterRow& declared = *counter.declared;
    take_tally_key(collector.tallies, declared.key);
    collector.groups = Groups{};
    collector.groups.count = 1;
    if (declared.by != InvalidAttrNumber)
        collector.groups = groups_of_counter(counter);
    if (declared.measure.column != InvalidAttrNumber)
        collector.value_type = column_type(declared.source, declared.measure.column);
}

/// The first own window of any person in which an event can come at this boundary or later.
std::int32_t first_open_window(const Collector& collector, Timestamp boundary) {
    const std::int32_t per = collector.unit.per_days;
    if (per == 0)
        return kNoWindow;
    // The last day of window w of the greatest phase is (w + 2) * per - 2.
    return static_cast<std::int32_t>(floor_quotient(day_of(boundary) + 1, per) - 1);
}

/// Reads the due periods into stocks and tallies; before its first step a counter of active persons
/// also the days before. Departures are of all persons, whether or not they have rows in the tick.
void count_stocks(Collector& collector, const SourceRow& source, std::int64_t number,
                  Timestamp since, bool is_first) {
    const SourceCounterRow& declared = *collector.declared;
    const DuePeriods& due = *collector.due;
    const auto count = static_cast<std::size_t>(due.count);
    collector.begins = static_cast<Timestamp*>(palloc(count * sizeof(Timestamp)));
    for (std::size_t i = 0; i < count; ++i) // on the face: days in the zone can be longer
        collector.begins[i] = days_before(due.starts[i + 1], declared.active);
    collector.from = due.starts[0];
    if (is_first)
        collector.from = std::max(days_before(due.starts[0], declared.active), since);
    collector.path = ActivePath({due.starts + 1, count}, {collector.begins, count});
    check_tallies(number, number);
    collector.tallies.has_times = true;
    open_tallies(collector.tallies, number, kNoWindow + 1, is_first); // all but of no event
    read_persons({declared.source, &source, declared.event, declared.measure.column, declared.by,
                  collector.from, due.starts[due.count]},
                 {begin_person, add_event, end_person, &collector});
    show_phase("storing tallies");
    close_tallies(collector.tallies);
    sweep_tallies(number, count_others, &collector);
    const std::int64_t groups = collector.groups.count;
    for (std::int64_t i = groups; i < due.count * groups; ++i)
        collector.cells[i] += collector.cells[i - groups];
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
    std::int32_t first = first_open_window(collector, due.starts[due.count]);
    if (collector.has_bound()) {
        if (takes_over)
            take_over_tallies(old.number, number, old.per_person, declared.per_person);
        check_tallies(number, number);
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
            sweep_tallies(number, is_open, &first);
    }
}

/// What no number of the counter can be below.
std::int64_t least_of(const Measure& measure) {
    const bool is_signed = measure.kind == MeasureKind::sum && measure.lower < 0;
    return is_signed ? std::numeric_limits<std::int64_t>::min() : 0;
}

/// Past the horizon no period comes whose tick would delete the tallies of windows that are over.
/// Up to two `per` after the last step was closed they are there for a counter that continues this
/// one.
void forget_tallies_past_horizon(const CounterRow& row, const SourceCounterRow& declared,
                                 const SourceRow& source, TimestampTz called) {
    const std::int32_t days = unit_of_source(source).per_days;
    if (declared.per_person == 0 || days == 0 || !has_tally_key(declared) ||
        called < row.released_at + std::int64_t{2} * days * USECS_PER_DAY)
        return;
    forget_tallies(row.number);
}

/// In `context`, which is the current one.
Closed close_periods(OpenCounter& counter, TimestampTz called, MemoryContext context) {
    CounterRow& row = counter.row;
    const SourceCounterRow& declared = *counter.declared;
    SourceRow source;
    if (!read_source(declared.source, source))
        raise_source_dropped(counter.view);
    const Schedule schedule = schedule_of(declared, source);
    std::int64_t last = row.steps + std::max<std::int64_t>(1, kMostCells / streams_of(declared));
    if (row.horizon != kUnbounded)
        last = std::min(last, row.horizon);
    const DuePeriods due = due_periods(schedule, row.steps, last, declared.ended, called);
    if (due.count == 0) {
        if (row.horizon != kUnbounded && row.steps == row.horizon)
            forget_tallies_past_horizon(row, declared, source, called);
        return Closed::nothing;
    }
    check_never_fails(declared, source, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
    if (declared.analyst && !declared.begun) {
        // Committed before a row is read: an analyst cannot take back what a failure may show.
        mark_begun(row.number);
        return Closed::marked;
    }

    const EntryRange charged = range_of_counter(row.number);
    if (row.horizon == kUnbounded ? charged.until != DT_NOEND
                                  : due.starts[due.count - 1] - USECS_PER_DAY >= charged.until)
        raise_damaged("the charge of the counter has ended");
    clamp_periods(due, charged.since, charged.until);

    set_progress_subject(counter.view);
    Collector collector{};
    collector.declared = &declared;
    collector.context = context;
    collector.schedule = &schedule;
    collector.due = &due;
    collector.unit = unit_of_source(source);
    const std::int64_t offsets =
        digest_of_offsets(source.time_zone, declared.since, collector.unit.per_days);
    if (offsets != declared.offsets)
        check_noise_suffices(counter, source, collector.unit.per_days);
    collector.bound = declared.active != 0
                          ? PersonBound({1, false})
                          : PersonBound({declared.per_person, collector.counts_persons()});
    prepare(collector, counter);
    collector.cells = static_cast<int128*>(allocate_secret(
        collector.context,
        static_cast<std::size_t>(due.count) * static_cast<std::size_t>(collector.groups.count) *
            static_cast<std::size_t>(declared.measure.streams()) * sizeof(int128)));
    (void)GetCurrentTransactionId(); // now: else pg_locks would show when a tally is first updated
    without_statistics([&] {
        if (declared.active != 0)
            count_stocks(collector, source, row.number, charged.since, row.steps == 0);
        else
            count_rows(collector, source, row.number, row.steps == 0);
    });
    book_source(declared.source, source); // whose owner was checked
    show_phase("drawing noise");
    close_streams(row, Counted{due.count, collector.groups.count, declared.measure.streams(),
                               collector.cells, least_of(declared.measure), due.shown, called,
                               collector.groups.dropped,
                               declared.measure.kind == MeasureKind::histogram});
    mark_ended(row.number, due.ended, offsets, remembered_of(declared, source));
    if (type_is_enum(collector.groups.type))
        rename_groups(row.number, names_of(collector.groups), collector.groups.count);
    return row.steps == last && last != row.horizon ? Closed::part : Closed::all;
}

} // namespace

Closed close_source_counter(OpenCounter& counter, TimestampTz called) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter source", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const Closed closed = close_periods(counter, called, context);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return closed;
}

} // namespace dp_counter::pg
