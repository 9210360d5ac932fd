// dp_source_contributions: a private histogram of persons by their number of events, to choose a
// bound from.
//
// One transaction charges the budget, draws the noise, stores the result in a new table of the
// caller, and is flushed. It commits before anyone sees the result, who could otherwise roll it
// back: from the draw to the commit no user's code runs, and no message shows a number.
#include <algorithm>
#include <cstdint>

#include "core/count/own_window.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/progress.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/sources/columns.hpp"
#include "pg/sources/periods.hpp"
#include "pg/sources/plain_value.hpp"
#include "pg/sources/reader.hpp"
#include "pg/steps/cells.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

enum ArgumentIndex { kSource, kName, kEpsilon, kEvent, kMost, kSince, kUntil };

constexpr std::int32_t kGreatest = 10000;

/// Persons by the number of their events: persons[i] of them have i + 1, the last one more. Under a
/// budget that renews, a person counts once for each own window that is wholly in the range: those
/// cut at its ends look small. So one unit changes one number by 1.
struct Histogram {
    std::int32_t cells;
    int128* persons;
    BudgetUnit unit;
    Oid time_type;
    std::int64_t first, end; ///< the days that are wholly in the range: from first to before end
    std::int32_t phase;      ///< of the person whose events come
    std::int64_t window;     ///< of the event that came last
    std::int64_t events;     ///< in that window, or of that person
};

void count_unit(Histogram& histogram) {
    const auto first_of = [&](std::int64_t window) {
        return first_day(window, histogram.phase, histogram.unit.per_days);
    };
    const bool is_whole =
        histogram.unit.per_days == 0 || (histogram.first <= first_of(histogram.window) &&
                                         first_of(histogram.window + 1) <= histogram.end);
    if (histogram.events > 0 && is_whole)
        ++histogram.persons[std::min<std::int64_t>(histogram.events, histogram.cells) - 1];
    histogram.events = 0;
}

void begin_person(const PlainValue& person, void* context) {
    auto& histogram = *static_cast<Histogram*>(context);
    if (histogram.unit.per_days != 0)
        histogram.phase =
            person_phase(histogram.unit, person.bytes(), static_cast<std::size_t>(person.size));
}

void count_event(const SourceEvent& event, void* context) {
    auto& histogram = *static_cast<Histogram*>(context);
    if (histogram.unit.per_days != 0) { // events come in the order of their time
        const std::int64_t window = own_window(day_of_time(histogram.time_type, event.at),
                                               histogram.phase, histogram.unit.per_days);
        if (window != histogram.window)
            count_unit(histogram);
        histogram.window = window;
    }
    ++histogram.events;
}

void end_person(void* context) {
    count_unit(*static_cast<Histogram*>(context));
}

/// An instant on the face of the rows' times.
Timestamp face_of_instant(Oid type, const char* time_zone, TimestampTz instant) {
    return type == TIMESTAMPTZOID
               ? instant
               : DatumGetTimestamp(DirectFunctionCall2(timestamptz_zone,
                                                       CStringGetTextDatum(time_zone),
                                                       TimestampTzGetDatum(instant)));
}

/// From the arguments, which are local to the source's time zone: by default all times up to now.
EntryRange read_range(FunctionCallInfo fcinfo, Oid type, const char* time_zone) {
    constexpr const char* kHint =
        "Ranges are local to the source's time zone: write until => '2026-01-01', or now() AT TIME "
        "ZONE 'Europe/Berlin'.";
    const Argument since = read_local_time(fcinfo, kSince, "since", kHint);
    const Argument until = read_local_time(fcinfo, kUntil, "until", kHint);
    const auto face = [&](const Argument& local, Timestamp otherwise) {
        return local.isnull ? otherwise
                            : face_of_local(type, time_zone, DatumGetTimestamp(local.value));
    };
    const EntryRange range{
        face(since, DT_NOBEGIN),
        face(until, face_of_instant(type, time_zone, GetCurrentTransactionStartTimestamp()))};
    check_not_empty(range);
    return range;
}

/// The first day that begins at this time or later; infinite times are before and after all.
std::int64_t day_not_before(Timestamp time) {
    if (TIMESTAMP_NOT_FINITE(time))
        return time;
    return day_of(time) + (time % USECS_PER_DAY == 0 ? 0 : 1);
}

/// The rows with finite times in the range.
SourceQuery rows_in(EntryRange range, Oid source, const SourceRow& row, AttrNumber event) {
    SourceQuery query{source, &row, event, 0, 0, 0, 0};
    if (column_type(source, row.at) == DATEOID) {
        static constexpr std::int64_t kFirst = DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE;
        static constexpr std::int64_t kEnd = DATE_END_JULIAN - POSTGRES_EPOCH_JDATE;
        const auto date = [](Timestamp time) {
            return DateADTGetDatum(
                static_cast<DateADT>(std::clamp(day_not_before(time), kFirst, kEnd)));
        };
        query.from = date(range.since);
        query.to = date(range.until);
    } else {
        query.from = TimestampGetDatum(std::max(range.since, MIN_TIMESTAMP));
        query.to = TimestampGetDatum(std::min(range.until, END_TIMESTAMP));
    }
    return query;
}

/// The quoted name of the table to create. The table is created later; this raises what can be
/// refused before anything is read.
const char* name_table(text* name) {
    RangeVar* table = parse_new_name(name);
    Oid existing = InvalidOid;
    (void)RangeVarGetAndCheckCreationNamespace(table, NoLock, &existing);
    if (OidIsValid(existing))
        ereport(ERROR, (errcode(ERRCODE_DUPLICATE_TABLE),
                        errmsg("relation \"%s\" already exists", table->relname)));
    return quote_qualified_identifier(table->schemaname, table->relname);
}

void create_table(const char* quoted) {
    const char* statement = psprintf(
        "CREATE TABLE %s (events pg_catalog.int4 PRIMARY KEY, persons pg_catalog.int8 NOT NULL, "
        "stddev pg_catalog.float8 NOT NULL, low pg_catalog.int8 NOT NULL, high pg_catalog.int8 NOT "
        "NULL, kept_at_most pg_catalog.float8)",
        quoted);
    if (SPI_execute(statement, false, 0) != SPI_OK_UTILITY)
        elog(ERROR, "could not create %s", quoted);
}

/// The largest share of all events that a bound of so many per person keeps, from the released
/// numbers: each person of the last, open cell counts as one event more than those of the cell
/// before.
double kept_share(const ClosedRelease* releases, std::int32_t cells, std::int32_t bound) {
    double kept = 0;
    double all = 0;
    for (std::int32_t i = 0; i < cells; ++i) {
        const auto persons = static_cast<double>(releases[i].release.count);
        kept += persons * std::min(i + 1, bound);
        all += persons * (i + 1);
    }
    return all > 0 ? std::clamp(kept / all, 0.0, 1.0) : 0;
}

/// Whether more than a tenth of the persons are in the open cell: then the share would mean
/// nothing.
bool is_open_cell_large(const ClosedRelease* releases, std::int32_t cells) {
    double all = 0;
    for (std::int32_t i = 0; i < cells; ++i)
        all += static_cast<double>(releases[i].release.count);
    return static_cast<double>(releases[cells - 1].release.count) > all / 10;
}

/// Uses a generic plan, in which debug_print_plan shows no number.
void store(const char* table, const ClosedRelease* releases, std::int32_t cells) {
    Oid types[] = {INT4OID, INT8OID, FLOAT8OID, INT8OID, INT8OID, FLOAT8OID};
    (void)set_config_option("plan_cache_mode", "force_generic_plan", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_LOCAL, true, 0, false);
    SPIPlanPtr insert = SPI_prepare(
        psprintf("INSERT INTO %s VALUES ($1, $2, $3, $4, $5, $6)", table), lengthof(types), types);
    const bool is_kept_known = !is_open_cell_large(releases, cells);
    for (std::int32_t i = 0; i < cells; ++i) {
        const ClosedRelease& cell = releases[i];
        const ReleaseInterval interval = clamped_interval(cell.release.count, cell.width);
        const bool is_null = i + 1 == cells || !is_kept_known;
        Datum values[] = {Int32GetDatum(i + 1),
                          Int64GetDatum(cell.release.count),
                          Float8GetDatum(cell.release.stddev),
                          Int64GetDatum(interval.low),
                          Int64GetDatum(interval.high),
                          Float8GetDatum(is_null ? 0 : kept_share(releases, cells, i + 1))};
        const char* nulls = is_null ? "     n" : "      ";
        if (SPI_execute_plan(insert, values, nulls, false, 0) != SPI_OK_INSERT)
            elog(ERROR, "could not insert into %s", table);
    }
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_source_contributions) {
    using namespace dp_counter;
    using namespace dp_counter::pg;
    check_can_commit(
        fcinfo, "dp_source_contributions",
        "It commits, since a release that was seen and then rolled back would be drawn again.");
    PreventCommandIfReadOnly("dp_source_contributions()");
    const Oid source = read_relation(fcinfo->args[kSource], "source");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[kEpsilon]);
    check_not_null(fcinfo->args[kName], "name", "Give the name of the table to create.");
    check_not_null(fcinfo->args[kMost], "most");
    const std::int32_t most = PG_GETARG_INT32(kMost);
    if (most < 1 || most > kGreatest)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("most must be between 1 and %d, not %d", kGreatest, most),
                        errhint("It is the largest bound to consider.")));
    const PrivacyUnit unit = read_unit({Float8GetDatum(mechanism_epsilon(epsilon)), false});
    text* name = PG_GETARG_TEXT_P_COPY(kName);

    SPI_connect_ext(SPI_OPT_NONATOMIC);
    next_transaction();
    check_owner(source);
    lock_source(source, false);
    check_owner(source);
    const SourceRow row = require_source(source);
    const AttrNumber event = read_event_column(source, fcinfo->args[kEvent]);
    const Oid time_type = column_type(source, row.at);
    const EntryRange range = read_range(fcinfo, time_type, row.time_zone);
    PushActiveSnapshot(GetTransactionSnapshot());
    const char* table = name_table(name);
    check_budget_usable(row.budget);
    charge_budget(row.budget, epsilon, psprintf("contributions in %s", table), kNoCounter, range);
    const std::int32_t cells = most + 1;
    Histogram histogram{};
    histogram.cells = cells;
    histogram.persons =
        static_cast<int128*>(allocate_secret(CurrentMemoryContext, sizeof(int128) * cells));
    histogram.unit = unit_of_budget(row.budget);
    histogram.time_type = time_type;
    histogram.first = day_not_before(range.since);
    histogram.end = TIMESTAMP_NOT_FINITE(range.until) ? range.until : day_of(range.until);
    with_progress([&] {
        set_progress_subject(source);
        read_persons(rows_in(range, source, row, event),
                     {begin_person, count_event, end_person, &histogram});
    });
    auto* releases = static_cast<ClosedRelease*>(palloc0(sizeof(ClosedRelease) * cells));
    release_cells(unit, 1, histogram.persons, cells, releases);
    create_table(table); // now, when no function of the view can add a trigger to it any more
    store(table, releases, cells);
    PopActiveSnapshot();
    SPI_commit();
    SPI_start_transaction();
    SPI_finish();
    PG_RETURN_VOID();
}
