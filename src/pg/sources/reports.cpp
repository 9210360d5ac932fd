#include "pg/sources/reports.hpp"

#include <algorithm>

#include "core/count/own_window.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/new_relation.hpp"
#include "pg/server/progress.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/columns.hpp"
#include "pg/sources/periods.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/sources/reader.hpp"
#include "pg/tables/public_view.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

/// From the arguments, which are local to the source's time zone: by default all times up to now.
EntryRange read_range(FunctionCallInfo fcinfo, const ReportCall& call, Oid type,
                      const char* time_zone) {
    constexpr const char* kHint =
        "Ranges are local to the source's time zone: write until => '2026-01-01', or now() AT TIME "
        "ZONE 'Europe/Berlin'.";
    const Argument since = read_local_time(fcinfo, call.since, "since", kHint);
    const Argument until = read_local_time(fcinfo, call.until, "until", kHint);
    const auto face = [&](const Argument& local, Timestamp otherwise) {
        return local.isnull ? otherwise
                            : face_of_local(type, time_zone, DatumGetTimestamp(local.value));
    };
    const TimestampTz now = GetCurrentTransactionStartTimestamp();
    const EntryRange range{face(since, DT_NOBEGIN),
                           face(until, type == TIMESTAMPTZOID ? now : local_of(now, time_zone))};
    check_not_empty(range);
    return range;
}

/// Names the table to create. It is created later; this raises what can be refused before anything
/// is read.
void name_table(text* name, Report& report) {
    const RangeVar* table = parse_new_name(name);
    report.schema = get_namespace_oid(table->schemaname, false);
    report.name = table->relname;
    report.table = quote_qualified_identifier(table->schemaname, table->relname);
    check_new(report.name, report.schema);
}

/// The first day that begins at this time or later; infinite times are before and after all.
std::int64_t day_not_before(Timestamp time) {
    if (TIMESTAMP_NOT_FINITE(time))
        return time;
    return day_of(time) + (time % USECS_PER_DAY == 0 ? 0 : 1);
}

/// The rows with finite times in the range.
SourceQuery rows_of(const Report& report, AttrNumber column) {
    return {report.source,
            &report.row,
            report.event,
            column,
            InvalidAttrNumber,
            std::max(report.range.since, MIN_TIMESTAMP),
            std::min(report.range.until, END_TIMESTAMP)};
}

struct UnitReader {
    const Report* report;
    Oid value_type; ///< invalid for a number of events
    void (*add)(std::int64_t, void*);
    void* context;
    WholeDays days;
    std::int32_t phase;  ///< of the person whose events come
    std::int64_t window; ///< of the event that came last
    bool has_events;     ///< in that window, or of that person
    std::int64_t most;   ///< of these events
};

void end_unit(UnitReader& reader) {
    const std::int32_t per_days = reader.report->unit.per_days;
    const auto first_of = [&](std::int64_t window) {
        return first_day(window, reader.phase, per_days);
    };
    const bool is_whole = per_days == 0 || (reader.days.first <= first_of(reader.window) &&
                                            first_of(reader.window + 1) <= reader.days.end);
    if (reader.has_events && is_whole)
        reader.add(reader.most, reader.context);
    reader.has_events = false;
}

void begin_person(const PlainValue& person, void* context) {
    auto& reader = *static_cast<UnitReader*>(context);
    if (reader.report->unit.per_days != 0)
        reader.phase = person_phase(reader.report->unit, person.bytes(),
                                    static_cast<std::size_t>(person.size));
}

void count_event(const SourceEvent& event, void* context) {
    auto& reader = *static_cast<UnitReader*>(context);
    const std::int32_t per_days = reader.report->unit.per_days;
    if (per_days != 0) { // events come in the order of their time
        const std::int64_t window =
            own_window(day_of_time(reader.report->time_type, event.at), reader.phase, per_days);
        if (window != reader.window)
            end_unit(reader);
        reader.window = window;
    }
    const std::int64_t before = reader.has_events ? reader.most : 0;
    if (!OidIsValid(reader.value_type))
        reader.most = before + 1;
    else {
        const std::int64_t value = measured_value(reader.value_type, event.value);
        reader.most = reader.has_events ? std::max(before, value) : value;
    }
    reader.has_events = true;
}

void end_person(void* context) {
    end_unit(*static_cast<UnitReader*>(context));
}

/// Raises invalid_parameter_value if units are own windows, and none is wholly in the range.
void check_contains_units(const Report& report) {
    const WholeDays days = whole_days(report.range);
    if (report.unit.per_days == 0 || TIMESTAMP_NOT_FINITE(report.range.since) ||
        TIMESTAMP_NOT_FINITE(report.range.until) || days.end - days.first >= report.unit.per_days)
        return;
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("there must be at least %d whole days between since and until",
                           report.unit.per_days),
                    errhint("Only own windows that are wholly between them count. Twice the "
                            "budget's per contains one of each person.")));
}

} // namespace

void keep_text(Argument& argument) {
    if (!argument.isnull)
        argument.value = PointerGetDatum(DatumGetTextPCopy(argument.value));
}

Report begin_report(FunctionCallInfo fcinfo, const ReportCall& call) {
    check_can_commit(
        fcinfo, call.procedure,
        "It commits, since a release that was seen and then rolled back would be drawn again.");
    PreventCommandIfReadOnly(psprintf("%s()", call.procedure));
    const Oid source = read_relation(fcinfo->args[call.source], "source");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[call.epsilon]);
    check_not_null(fcinfo->args[call.name], "name", "Give the name of the table to create.");
    const PrivacyUnit privacy = read_unit({Float8GetDatum(mechanism_epsilon(epsilon)), false});
    keep_text(fcinfo->args[call.name]);
    keep_text(fcinfo->args[call.event]);

    SPI_connect_ext(SPI_OPT_NONATOMIC);
    next_transaction();
    check_owner(source);
    LockRelationOid(source, AccessShareLock); // against DROP
    check_owner(source);
    lock_source(source, false);
    const SourceRow row = require_source(source);
    const Oid time_type = column_type(source, row.at);
    Report report{privacy, epsilon,   source, row,
                  0,       time_type, {},     read_range(fcinfo, call, time_type, row.time_zone),
                  0,       nullptr,   nullptr};
    report.event = read_event_column(source, fcinfo->args[call.event]);
    PushActiveSnapshot(GetTransactionSnapshot());
    name_table(DatumGetTextPP(fcinfo->args[call.name].value), report);
    check_budget_owned(row.budget);
    charge_budget(row.budget, epsilon, psprintf("%s in %s", call.purpose, report.table), kNoCounter,
                  report.range);
    check_owner(row.budget); // the owners may have changed while the charge waited
    check_owner(source);
    report.unit = unit_of_budget(row.budget);
    check_contains_units(report);
    return report;
}

WholeDays whole_days(EntryRange range) {
    return {day_not_before(range.since),
            TIMESTAMP_NOT_FINITE(range.until) ? range.until : day_of(range.until)};
}

void read_units(const Report& report, AttrNumber column, void (*add)(std::int64_t, void*),
                void* context) {
    UnitReader reader{};
    reader.report = &report;
    reader.value_type =
        column == InvalidAttrNumber ? InvalidOid : column_type(report.source, column);
    reader.add = add;
    reader.context = context;
    reader.days = whole_days(report.range);
    with_progress([&] {
        set_progress_subject(report.source);
        read_persons(rows_of(report, column), {begin_person, count_event, end_person, &reader});
    });
}

Oid create_report_table(const Report& report, const char* columns, const Oid* types, int count) {
    check_new(report.name, report.schema);
    if (SPI_execute(psprintf("CREATE TABLE %s (%s) USING heap", report.table, columns), false, 0) !=
        SPI_OK_UTILITY)
        elog(ERROR, "could not create %s", report.table);
    const Oid table = new_relation(report.name, report.schema);
    Relation relation = table_open(table, NoLock);
    TupleDesc type = RelationGetDescr(relation);
    bool is_same = type->natts == count;
    for (int i = 0; is_same && i < count; ++i)
        is_same = TupleDescAttr(type, i)->atttypid == types[i];
    table_close(relation, NoLock);
    if (!is_same)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("the columns of table %s were changed when it was created", report.table),
                 errhint("Disable event triggers that change new tables.")));
    return table;
}

void insert_report_row(Oid table, Datum* values, bool* nulls) {
    Relation relation = table_open(table, RowExclusiveLock);
    CatalogTupleInsert(relation, heap_form_tuple(RelationGetDescr(relation), values, nulls));
    table_close(relation, RowExclusiveLock);
}

void end_report() {
    PopActiveSnapshot();
    SPI_commit();
    SPI_start_transaction();
    SPI_finish();
}

} // namespace dp_counter::pg
