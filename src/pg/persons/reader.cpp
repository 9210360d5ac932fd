#include "pg/persons/reader.hpp"

#include "pg/persons/columns.hpp"
#include "pg/server/relations.hpp"
#include "pg/vetting/person_wise.hpp"
#include "pg/vetting/rewritten_view.hpp"
#include "pg/worker/executor_hooks.hpp"
#include "pg/worker/progress.hpp"
#include "pg/worker/serve.hpp"
#include "pg/worker/settings.hpp"

extern "C" {
#include "executor/executor.h"
#include "nodes/params.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {

namespace {

// --- the query

struct QueryText {
    StringInfoData sql;
    int person;
    int at;
    int event;
    int value;
    int by; ///< their places in the result, from 1; 0 where there is none
};

const char* quoted_column(Oid view, AttrNumber column) {
    return quote_identifier(get_attname(view, column, false));
}

/// By which values of equal bytes come one after the other.
const char* sort_key(Oid view, AttrNumber column) {
    return psprintf("%s%s", quoted_column(view, column),
                    type_is_collatable(column_type(view, column)) ? " COLLATE pg_catalog.\"C\""
                                                                  : "");
}

QueryText text_of(const SourceQuery& query) {
    QueryText text{};
    initStringInfo(&text.sql);
    int columns = 0;
    const auto add = [&](AttrNumber column) {
        if (column == InvalidAttrNumber)
            return 0;
        appendStringInfo(&text.sql, "%s %s", columns == 0 ? "SELECT" : ",",
                         quoted_column(query.source, column));
        return ++columns;
    };
    text.person = add(query.row->person);
    text.at = add(query.row->at);
    text.event = add(query.event);
    text.value = add(query.value);
    text.by = add(query.by);
    const char* person = quoted_column(query.source, query.row->person);
    const char* at = quoted_column(query.source, query.row->at);
    appendStringInfo(&text.sql,
                     " FROM %s WHERE %s IS NOT NULL AND %s OPERATOR(pg_catalog.>=) $1 AND %s "
                     "OPERATOR(pg_catalog.<) $2 ORDER BY %s",
                     quoted_name(query.source), person, at, at,
                     sort_key(query.source, query.row->person));
    for (const AttrNumber column : {query.row->at, query.by, query.value})
        if (column != InvalidAttrNumber)
            appendStringInfo(&text.sql, ", %s", sort_key(query.source, column));
    return text;
}

/// A date is compared with the timestamp of its midnight.
Oid type_of_bounds(const SourceQuery& query) {
    return column_type(query.source, query.row->at) == TIMESTAMPTZOID ? TIMESTAMPTZOID
                                                                      : TIMESTAMPOID;
}

/// Plans for these bounds, without parallel workers, whose statistics would not stand still.
PlannedStmt* plan(const SourceQuery& query, const QueryText& text, ParamListInfo bounds) {
    Oid types[2];
    types[0] = types[1] = type_of_bounds(query);
    Query* statement = rewritten(text.sql.data, types, 2, query.source);
    check_calls(statement, query.source, static_cast<AttrNumber>(text.person),
                static_cast<AttrNumber>(text.at), ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
    statement->queryId = 0; // pg_stat_statements would show everybody the number of rows
#if PG_VERSION_NUM >= 190000
    return pg_plan_query(statement, text.sql.data, 0, bounds, nullptr);
#else
    return pg_plan_query(statement, text.sql.data, 0, bounds);
#endif
}

ParamListInfo bounds_of(const SourceQuery& query) {
    ParamListInfo bounds = makeParamList(2);
    const Oid type = type_of_bounds(query);
    const Timestamp values[] = {query.from, query.to};
    for (int i = 0; i < 2; ++i) {
        bounds->params[i].value = TimestampGetDatum(values[i]);
        bounds->params[i].isnull = false;
        bounds->params[i].pflags = PARAM_FLAG_CONST;
        bounds->params[i].ptype = type;
    }
    return bounds;
}

// --- its rows

struct Receiver {
    DestReceiver base;
    const QueryText* text;
    const PersonConsumer* consumer;
    Oid person_type;
    StringInfoData bytes;  ///< of the person whose rows come
    bool has_person;       ///< one has come
    MemoryContext persons; ///< of the consumer's begin and end
    MemoryContext row;     ///< for a row
};

PlainValue current_person(const Receiver& receiver) {
    return {reinterpret_cast<const unsigned char*>(receiver.bytes.data), receiver.bytes.len, {}};
}

void end_person(Receiver& receiver) {
    if (receiver.has_person)
        receiver.consumer->end(receiver.consumer->context);
}

void next_person(Receiver& receiver, const PlainValue& person) {
    MemoryContext caller = MemoryContextSwitchTo(receiver.persons);
    if (!receiver.has_person)
        show_phase("counting");
    end_person(receiver);
    resetStringInfo(&receiver.bytes);
    appendBinaryStringInfo(&receiver.bytes, reinterpret_cast<const char*>(person.bytes()),
                           person.size);
    receiver.has_person = true;
    receiver.consumer->begin(current_person(receiver), receiver.consumer->context);
    MemoryContextSwitchTo(caller);
}

extern "C" {
static bool receive(TupleTableSlot* slot, DestReceiver* self) {
    auto* receiver = reinterpret_cast<Receiver*>(self);
    const QueryText& text = *receiver->text;
    slot_getallattrs(slot);
    const auto value = [&](int column) { return column == 0 ? 0 : slot->tts_values[column - 1]; };
    const auto is_null = [&](int column) { return column != 0 && slot->tts_isnull[column - 1]; };
    MemoryContext caller = MemoryContextSwitchTo(receiver->row);
    PlainValue person{};
    read_plain(receiver->person_type, value(text.person), person);
    if (!receiver->has_person || compare_plain(current_person(*receiver), person) != 0)
        next_person(*receiver, person);
    const bool is_event =
        text.event == 0 || (!is_null(text.event) && DatumGetBool(value(text.event)));
    if (is_event && !is_null(text.value) && !is_null(text.by))
        receiver->consumer->event({value(text.at), value(text.value), value(text.by)},
                                  receiver->consumer->context);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(receiver->row);
    return true;
}
static void begin_receiving(DestReceiver*, int, TupleDesc) {}
static void end_receiving(DestReceiver*) {}
}

void run(PlannedStmt* planned, const QueryText& text, ParamListInfo bounds, Receiver& receiver) {
    // After the plan's locks: an older snapshot would see a table that was emptied and loaded while
    // the plan waited for it as empty.
    PushActiveSnapshot(GetTransactionSnapshot());
    QueryDesc* query = CreateQueryDesc(planned, text.sql.data, GetActiveSnapshot(), InvalidSnapshot,
                                       &receiver.base, bounds, nullptr, 0);
    ExecutorStart(query, kQueryOfView);
    fix_settings_of_run();
    show_phase("reading the source");
#if PG_VERSION_NUM >= 180000
    ExecutorRun(query, ForwardScanDirection, 0);
#else
    ExecutorRun(query, ForwardScanDirection, 0, true);
#endif
    ExecutorFinish(query);
    ExecutorEnd(query);
    FreeQueryDesc(query);
    PopActiveSnapshot();
}

void evaluate(const SourceQuery& query, const PersonConsumer& consumer, MemoryContext persons) {
    const QueryText text = text_of(query);
    ParamListInfo bounds = bounds_of(query);
    MemoryContext row =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter row", ALLOCSET_SMALL_SIZES);
    Receiver receiver{{receive, begin_receiving, end_receiving, end_receiving, DestNone},
                      &text,
                      &consumer,
                      column_type(query.source, query.row->person),
                      {},
                      false,
                      persons,
                      row};
    initStringInfo(&receiver.bytes);
    run(plan(query, text, bounds), text, bounds, receiver);
    end_person(receiver);
    MemoryContextDelete(row);
}

// --- who runs it

bool has_read = false; // for the process's life

/// Raises what roles other than the owner may know of an error in the view: that there is one.
[[noreturn]] void raise_to_others(Oid source) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("could not evaluate source \"%s\"", get_rel_name(source)),
                    errhint("Its owner can run the tick to see why.")));
}

/// Raised for every error in the view; the owner is told which.
template <class Work>
void with_hidden_errors(Oid source, bool is_own, const Work& work) {
    MemoryContext memory = CurrentMemoryContext;
    PG_TRY();
    { work(); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(memory);
        if (is_own)
            tell_owner(CopyErrorData());
        FlushErrorState();
        raise_to_others(source);
    }
    PG_END_TRY();
}

} // namespace

void check_still_simple(Oid source, const SourceRow& row) {
    const char* reason = row.person_wise ? nullptr : why_not_person_wise(source);
    if (reason != nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("source \"%s\" is no longer a simple view", get_rel_name(source)),
                 is_owner(source) ? errdetail("%s", reason) : 0,
                 errhint("Make the view simple again to continue its counters. Or its owner can "
                         "vouch for it, by calling dp_source_create again with person_wise => "
                         "true or, where the budget renews, window_wise => true.")));
}

void read_persons(const SourceQuery& query, const PersonConsumer& consumer) {
    const bool is_own = is_owner(query.source);
    const Oid owner = owner_of(query.source);
    if (!serves(owner))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                        errmsg("source \"%s\" has got another owner meanwhile",
                               get_rel_name(query.source)),
                        errhint("Try again.")));
    check_still_simple(query.source, *query.row);
    has_read = true;
    with_hidden_errors(query.source, is_own, [&] {
        as_owner(owner, query.row->time_zone, is_own,
                 [&] { evaluate(query, consumer, CurrentMemoryContext); });
    });
}

bool has_read_persons() {
    return has_read;
}

} // namespace dp_counter::pg
