#include "pg/reports/report.hpp"

#include <algorithm>
#include <cstring>

#include "core/count/own_window.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/persons/columns.hpp"
#include "pg/server/as_role.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/new_relation.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/guarantee.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/sources/source_history.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/worker/call.hpp"
#include "pg/worker/progress.hpp"
#include "pg/worker/serve.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

/// From the arguments, which are local to the source's time zone: by default all times up to now.
EntryRange read_range(const ReportCall& call, Oid type, const char* time_zone) {
    const auto face = [&](const Argument& local, Timestamp otherwise) {
        return local.isnull ? otherwise
                            : face_of_local(type, time_zone, DatumGetTimestamp(local.value));
    };
    const TimestampTz now = GetCurrentTransactionStartTimestamp();
    const EntryRange range{
        face(call.since, DT_NOBEGIN),
        face(call.until, type == TIMESTAMPTZOID ? now : local_of(now, time_zone))};
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
SourceQuery rows_of(const Report& report, AttrNumber column) {
    return {report.request->source,
            &report.row,
            report.request->event,
            column,
            report.request->by,
            std::max(report.request->range.since, MIN_TIMESTAMP),
            std::min(report.request->range.until, END_TIMESTAMP)};
}

struct UnitReader {
    const Report* report;
    UnitConsumer consumer;
    WholeDays days;
    PlainValue person; ///< whose events come
    std::int32_t phase;
    std::int64_t window; ///< of the event that came last
    bool has_events;     ///< in that window, or of that person
};

void end_unit(UnitReader& reader) {
    const std::int32_t per_days = reader.report->unit.per_days;
    const auto first_of = [&](std::int64_t window) {
        return first_day(window, reader.phase, per_days);
    };
    const bool is_whole = per_days == 0 || (reader.days.first <= first_of(reader.window) &&
                                            first_of(reader.window + 1) <= reader.days.end);
    if (reader.has_events && is_whole)
        reader.consumer.end(reader.consumer.context);
    reader.has_events = false;
}

void begin_person(const PlainValue& person, void* context) {
    auto& reader = *static_cast<UnitReader*>(context);
    reader.person = person;
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
    reader.consumer.event(reader.person, event, !reader.has_events, reader.consumer.context);
    reader.has_events = true;
}

void end_person(void* context) {
    end_unit(*static_cast<UnitReader*>(context));
}

/// What read_units knows of a unit.
struct UnitNumber {
    Oid value_type; ///< invalid for a number of events
    std::int64_t most;
    void (*add)(std::int64_t, void*);
    void* context;
};

void add_to_number(const PlainValue& /*person*/, const SourceEvent& event, bool is_first,
                   void* context) {
    auto& number = *static_cast<UnitNumber*>(context);
    if (!OidIsValid(number.value_type)) {
        number.most = is_first ? 1 : number.most + 1;
        return;
    }
    const std::int64_t value = measured_value(number.value_type, event.value);
    number.most = is_first ? value : std::max(number.most, value);
}

/// Raises invalid_parameter_value if units are own windows, and none is wholly in the range.
void check_contains_units(const Report& report) {
    const EntryRange range = report.request->range;
    const WholeDays days = whole_days(range);
    if (report.unit.per_days == 0 || TIMESTAMP_NOT_FINITE(range.since) ||
        TIMESTAMP_NOT_FINITE(range.until) || days.end - days.first >= report.unit.per_days)
        return;
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("there must be at least %d whole days between since and until",
                           report.unit.per_days),
                    errhint("Only own windows that are wholly between them count. Twice the "
                            "budget's per contains one of each person.")));
}

/// Locks the source, as its owner.
SourceRow open_source(Oid source) {
    check_owner(source);
    LockRelationOid(source, AccessShareLock); // against DROP
    check_owner(source);
    lock_source(source, false);
    return require_source(source);
}

/// In a transaction of its own: it locks the views of counters, which comes before the budget. The
/// source is shared: who declares a counter in an open transaction holds nobody up.
void restate(Oid source) {
    PushActiveSnapshot(GetTransactionSnapshot());
    LockRelationOid(source, AccessShareLock);
    SourceRow row;
    if (is_view(source)) {
        lock_source(source, false);
        if (read_source(source, row))
            restate_guarantees(source, row);
    }
    PopActiveSnapshot();
}

void make_report(const ReportRequest& request, const char* purpose,
                 bool (*make)(const Report& report)) {
    next_transaction();
    const SourceRow row = open_source(request.source);
    auto* epsilon = reinterpret_cast<Numeric>(const_cast<ReportRequest*>(&request + 1));
    auto* after = reinterpret_cast<char*>(epsilon) + MAXALIGN(VARSIZE(epsilon));
    Report report{
        &request,
        request.has_list ? reinterpret_cast<ArrayType*>(after) : nullptr,
        read_unit({Float8GetDatum(mechanism_epsilon(epsilon)), false}),
        epsilon,
        row,
        column_type(request.source, row.at),
        {},
        quote_qualified_identifier(get_namespace_name(request.schema), NameStr(request.name))};
    PushActiveSnapshot(GetTransactionSnapshot());
    check_new(NameStr(request.name), request.schema);
    check_not_lost(row.budget);
    check_budget_owned(row.budget);
    charge_budget(row.budget, epsilon, psprintf("%s in %s", purpose, report.table), kNoCounter,
                  request.range);
    check_owner(row.budget); // the owners may have changed while the charge waited
    check_owner(request.source);
    report.unit = unit_of_source(row);
    check_contains_units(report);
    book_source(request.source, row);
    const bool is_kept_stored = make(report);
    PopActiveSnapshot();
    next_transaction();
    if (is_kept_stored) {
        restate(request.source);
        next_transaction();
    }
}

} // namespace

ReportRequest begin_report(const ReportCall& call) {
    check_can_commit(
        call.fcinfo, call.procedure,
        "It commits, since a release that was seen and then rolled back would be drawn again.");
    PreventCommandIfReadOnly(psprintf("%s()", call.procedure));
    ReportRequest request{};
    request.source = read_relation(call.source, "source");
    Numeric epsilon = read_decimal_epsilon(call.epsilon);
    (void)read_unit({Float8GetDatum(mechanism_epsilon(epsilon)), false});
    check_not_null(call.name, "name", "Give the name of the table to create.");
    const SourceRow row = open_source(request.source);
    request.range = read_range(call, column_type(request.source, row.at), row.time_zone);
    request.event = read_event_column(request.source, call.event);
    const RangeVar* table = parse_new_name(DatumGetTextPP(call.name.value));
    request.schema = get_namespace_oid(table->schemaname, false);
    namestrcpy(&request.name, table->relname);
    check_new(table->relname, request.schema);
    return request;
}

void ask_for_report(const ReportCall& call, ReportRequest request, const ArrayType* list) {
    Numeric epsilon = read_decimal_epsilon(call.epsilon);
    request.has_list = list != nullptr;
    const Size list_at = sizeof request + MAXALIGN(VARSIZE(epsilon));
    const Size size = list_at + (request.has_list ? VARSIZE(list) : 0);
    auto* bytes = static_cast<char*>(palloc0(size));
    std::memcpy(bytes, &request, sizeof request);
    std::memcpy(bytes + sizeof request, epsilon, VARSIZE(epsilon));
    if (request.has_list)
        std::memcpy(bytes + list_at, list, VARSIZE(list));
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    ErrorData* failure = nullptr;
    ErrorData* died = call_worker(
        {call.worker, call.fcinfo->flinfo->fn_oid, owner_of(request.source), bytes, size},
        [](const Answer& answer, void* first) {
            *static_cast<ErrorData**>(first) =
                answer.owners_error == nullptr ? answer.error : answer.owners_error;
        },
        &failure);
    if (failure == nullptr)
        failure = died;
    if (failure != nullptr)
        ThrowErrorData(failure);
    SPI_finish();
}

void serve_report(const char* request, const char* purpose, bool (*make)(const Report& report)) {
    ErrorData* error = attempt_in_worker(
        [&] { make_report(*reinterpret_cast<const ReportRequest*>(request), purpose, make); });
    if (error == nullptr)
        answer(nullptr, 0);
    else
        answer_error(error);
}

WholeDays whole_days(EntryRange range) {
    return {day_not_before(range.since),
            TIMESTAMP_NOT_FINITE(range.until) ? range.until : day_of(range.until)};
}

void read_units(const Report& report, AttrNumber column, void (*add)(std::int64_t, void*),
                void* context) {
    UnitNumber number{column == InvalidAttrNumber ? InvalidOid
                                                  : column_type(report.request->source, column),
                      0, add, context};
    const auto end = [](void* unit) {
        auto& ended = *static_cast<UnitNumber*>(unit);
        ended.add(ended.most, ended.context);
    };
    read_events_of_units(report, column, {add_to_number, end, &number});
}

void read_events_of_units(const Report& report, AttrNumber column, const UnitConsumer& consumer) {
    UnitReader reader{};
    reader.report = &report;
    reader.consumer = consumer;
    reader.days = whole_days(report.request->range);
    set_progress_subject(report.request->source);
    read_persons(rows_of(report, column), {begin_person, count_event, end_person, &reader});
}

Oid create_report_table(const Report& report, const char* columns, const Oid* types, int count) {
    const char* name = NameStr(report.request->name);
    const Oid schema = report.request->schema;
    if (has_read_persons())
        elog(ERROR, "table %s would be made after the view was read", report.table);
    check_new(name, schema);
    int created = 0;
    // Restricted: event triggers run, in a session that a superuser began.
    as_role(GetUserId(), [&] {
        created = SPI_execute(psprintf("CREATE TABLE %s (%s) USING heap", report.table, columns),
                              false, 0);
    });
    if (created != SPI_OK_UTILITY)
        elog(ERROR, "could not create %s", report.table);
    ResetPlanCache(); // of plans for event triggers, which the view's functions could use, too
    const Oid table = new_relation(name, schema);
    Relation relation = table_open(table, NoLock);
    TupleDesc type = RelationGetDescr(relation);
    bool is_same = type->natts == count && RelationGetIndexList(relation) == NIL;
    for (int i = 0; is_same && i < count; ++i)
        is_same = TupleDescAttr(type, i)->atttypid == types[i];
    table_close(relation, NoLock);
    if (!is_same)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("columns or indexes of table %s were changed when it was created",
                               report.table),
                        errhint("Disable event triggers that change new tables.")));
    return table;
}

void insert_report_row(Oid table, Datum* values, bool* nulls) {
    Relation relation = table_open(table, RowExclusiveLock);
    CatalogTupleInsert(relation, heap_form_tuple(RelationGetDescr(relation), values, nulls));
    table_close(relation, RowExclusiveLock);
}

} // namespace dp_counter::pg
