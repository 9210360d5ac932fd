// dp_counter_record: records events in the open step, as a function and as a trigger.
#include <cstdint>

#include "pg/events/pending_events.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/source_counters_table.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"
#include "utils/varlena.h"
}

namespace dp_counter::pg {
namespace {

void check_is_recorded(Oid counter) {
    const bool has_ended = check_is_counter(counter);
    if (has_source(counter))
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("counter \"%s\" has a source", name_of_relation(counter)),
                        errhint("It counts the rows of its source. To record events, use a counter "
                                "of dp_event_counter_create.")));
    if (has_ended)
        raise_ended(counter, "Drop the triggers that record events in it.");
}

void check_may_record(Oid counter) {
    PreventCommandIfReadOnly("dp_counter_record()");
    PreventCommandIfParallelMode("dp_counter_record()");
    check_privilege(counter, kMayRecord);
    if (!has_pending_events(counter))
        check_is_recorded(counter);
}

// --- the trigger

/// What the trigger looked up when it first fired in a query.
struct Target {
    Oid counter;
    Oid user; ///< whose privilege was checked
};

[[noreturn]] void refuse_trigger(const char* what, const char* hint) {
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("%s", what),
                    errhint("%s", hint)));
}

void check_trigger(FunctionCallInfo fcinfo) {
    if (!CALLED_AS_TRIGGER(fcinfo))
        refuse_trigger("dp_counter_record() without arguments is a trigger function",
                       "Name the counter: dp_counter_record('counter').");
    const auto* data = reinterpret_cast<const TriggerData*>(fcinfo->context);
    if (!TRIGGER_FIRED_AFTER(data->tg_event))
        refuse_trigger("dp_counter_record must be an AFTER trigger",
                       "A BEFORE trigger would also count rows that are not stored in the end.");
    if (!TRIGGER_FIRED_BY_INSERT(data->tg_event) && !TRIGGER_FIRED_BY_UPDATE(data->tg_event))
        refuse_trigger("dp_counter_record must be a trigger on INSERT or UPDATE",
                       "Events are never subtracted from a counter.");
    if (TRIGGER_FIRED_FOR_STATEMENT(data->tg_event) && data->tg_newtable == nullptr)
        refuse_trigger("statement-level trigger dp_counter_record needs a transition table",
                       "Add REFERENCING NEW TABLE AS new, or use FOR EACH ROW.");
    if (data->tg_trigger->tgnargs != 1)
        refuse_trigger("dp_counter_record as a trigger takes one argument",
                       "Name the counter: EXECUTE FUNCTION dp_counter_record('counter').");
}

/// The counter that the trigger's argument names. A name without a schema is looked up in the
/// schema of the trigger's table, not in the search path.
Oid find_counter(const TriggerData* data) {
    text* name = cstring_to_text(data->tg_trigger->tgargs[0]);
    RangeVar* table = makeRangeVarFromNameList(textToQualifiedNameList(name));
    if (table->schemaname == nullptr)
        table->schemaname = get_namespace_name(RelationGetNamespace(data->tg_relation));
    const Oid schema = get_namespace_oid(table->schemaname, true);
    const Oid counter = OidIsValid(schema) ? get_relname_relid(table->relname, schema) : InvalidOid;
    if (!OidIsValid(counter))
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_TABLE),
                 errmsg("relation \"%s.%s\" does not exist", table->schemaname, table->relname),
                 errdetail("Trigger \"%s\" of table \"%s\" records events in it.",
                           data->tg_trigger->tgname, RelationGetRelationName(data->tg_relation)),
                 errhint("Qualify the counter with its schema. If it was renamed, create the "
                         "trigger again.")));
    return counter;
}

Oid counter_of_trigger(FunctionCallInfo fcinfo) {
    auto* target = static_cast<Target*>(fcinfo->flinfo->fn_extra);
    if (target == nullptr) {
        target =
            static_cast<Target*>(MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Target)));
        target->counter = find_counter(reinterpret_cast<const TriggerData*>(fcinfo->context));
        fcinfo->flinfo->fn_extra = target;
    }
    const Oid user = GetUserId();
    if (target->user != user) {
        check_may_record(target->counter);
        target->user = user;
    }
    return target->counter;
}

} // namespace

DP_FUNCTION(dp_counter_record) {
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    check_not_null(fcinfo->args[1], "events", "Give 0 if there are none.");
    const std::int32_t events = PG_GETARG_INT32(1);
    if (events < 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("events must not be negative"),
                 errhint("Events are never subtracted from a counter.")));
    check_may_record(counter);
    add_pending_events(counter, events);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_counter_record_trigger) {
    check_trigger(fcinfo);
    const auto* data = reinterpret_cast<const TriggerData*>(fcinfo->context);
    const Oid counter = counter_of_trigger(fcinfo);
    const bool is_row = TRIGGER_FIRED_FOR_ROW(data->tg_event);
    add_pending_events(counter, is_row ? 1 : tuplestore_tuple_count(data->tg_newtable));
    PG_RETURN_DATUM(0);
}

} // namespace dp_counter::pg
