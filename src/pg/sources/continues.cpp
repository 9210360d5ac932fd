#include <algorithm>

#include "pg/sources/continues.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/persons/columns.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/reattach.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/streams_table.hpp"

namespace dp_counter::pg {

namespace {

[[noreturn]] void raise_cannot_continue(int sqlstate, const char* message, const char* hint) {
    ereport(ERROR, (errcode(sqlstate), errmsg("%s", message), errhint("%s", hint)));
}

void check_has_bound(const char* name, const SourceCounterRow& row) {
    if (row.per_person == 0)
        raise_cannot_continue(
            ERRCODE_INVALID_PARAMETER_VALUE,
            psprintf(row.active != 0 ? "%s counts active persons"
                                     : "%s counts persons without per_person",
                     name),
            "Nothing is kept of these persons that another counter could go on with. End the "
            "counter with dp_counter_end, and create another one.");
}

/// Whether persons, their windows and what is charged are the same.
void check_same_persons(const OpenCounter& old, bool vouched,
                        const SourceDeclaration& declaration) {
    const char* name = name_of_relation(old.view);
    const Oid budget = budget_of_counter(old.row.number);
    if (budget != declaration.budget)
        raise_cannot_continue(ERRCODE_INVALID_PARAMETER_VALUE,
                              psprintf(R"(counter "%s" is not charged to budget "%s")", name,
                                       name_of_relation(declaration.budget)),
                              !OidIsValid(budget) ? "The view of its budget is lost."
                              : is_within(budget, declaration.source.budget_number)
                                  ? psprintf("Name its budget: budget => '%s'.", shown_name(budget))
                                  : "A counter is continued under its own budget. To go on under "
                                    "another one, end it with dp_counter_end and create another "
                                    "counter: windows that meet both pay for both.");
    if (old.declared->source != declaration.row.source && !vouched)
        raise_cannot_continue(
            ERRCODE_INVALID_PARAMETER_VALUE,
            psprintf(R"(counter "%s" is over another source than "%s")", name,
                     name_of_relation(declaration.row.source)),
            "If each person has the same key in both, say so: same_persons => true.");
    if (!have_same_types(old.declared->remembered, declaration.row.remembered))
        raise_cannot_continue(
            ERRCODE_DATATYPE_MISMATCH,
            psprintf("person or time are of another type than those of counter \"%s\"", name),
            "Cast the columns in the view.");
}

} // namespace

Timestamp end_of_last_step(const OpenCounter& counter, Oid time_type) {
    const SourceCounterRow& declared = *counter.declared;
    return time_type == TIMESTAMPTZOID
               ? declared.ended
               : face_of_boundary({time_type, "", declared.since, declared.every, {}},
                                  counter.row.steps);
}

void read_continued(const SourceArguments& arguments, bool is_plan,
                    SourceDeclaration& declaration) {
    const bool vouched = is_true(arguments.same_persons);
    if (arguments.continues.isnull) {
        if (vouched)
            raise_cannot_continue(ERRCODE_INVALID_PARAMETER_VALUE,
                                  "same_persons requires continues",
                                  "Name the counter that this one continues.");
        return;
    }
    if (declaration.row.analyst)
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("continues requires that the caller owns source \"%s\"",
                               name_of_relation(declaration.row.source))));
    const Oid view = DatumGetObjectId(arguments.continues.value);
    check_counter_owner(view);
    // Against DROP; it can be read. One that has released nothing is dropped: no stronger lock
    // after a weaker one, with which a tick that waits for the counter would deadlock.
    const auto seen = find_counter(view);
    const bool is_replaced = !is_plan && seen && seen->row.steps == 0;
    const OpenCounter old = require_counter(
        lock_own_counter(view, is_replaced ? AccessExclusiveLock : ShareUpdateExclusiveLock));
    const CounterRow& row = old.row;
    const char* name = name_of_relation(old.view);
    if (!old.declared)
        raise_cannot_continue(ERRCODE_WRONG_OBJECT_TYPE,
                              psprintf("counter \"%s\" has no source", name),
                              "Create another counter of events.");
    const SourceCounterRow& before = *old.declared;
    if (row.has_ended && !has_tally_key(before))
        raise_ended(old.view,
                    "What its persons have used up was deleted, or handed over to a counter "
                    "that continues it.");
    check_is_here(old);
    if (row.steps == 0 && before.old.number != 0)
        raise_cannot_continue(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            psprintf("counter \"%s\" has released nothing, and continues another one", name),
            "Drop it with dp_counter_drop, and continue the other one.");
    if (row.steps == 0) {
        declaration.replaced = old.view;
        declaration.replaced_since = before.since;
        return;
    }
    check_published(old.view, row.number, row.steps);
    check_has_bound(psprintf("counter \"%s\"", name), before);
    if (!has_tally_key(before))
        raise_cannot_continue(
            ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            psprintf("counter \"%s\" has come to its horizon, and what its persons had used up has "
                     "been deleted",
                     name),
            "Create the other counter without continues.");
    check_has_bound("a counter that continues another one", declaration.row);
    check_same_persons(old, vouched, declaration);
    const Oid time_type = column_type(declaration.row.source, declaration.source.at);
    const EntryRange charged = range_of_counter(row.number);
    const Timestamp end = end_of_last_step(old, time_type);
    declaration.continued = old;
    declaration.row.old = {row.number, std::clamp(end, charged.since, charged.until), row.epsilon,
                           before.per_person};
    declaration.row.key = before.key;
}

void check_begins_later(const SourceDeclaration& declaration) {
    const Predecessor& old = declaration.row.old;
    if (old.number == 0 || declaration.range.since >= old.end)
        return;
    const Oid time_type = column_type(declaration.row.source, declaration.source.at);
    const Timestamp end = local_of_face(time_type, declaration.source.time_zone, old.end);
    raise_cannot_continue(ERRCODE_INVALID_PARAMETER_VALUE,
                          psprintf("since must be at or after %s, where counter \"%s\" has come to",
                                   text_of(end), name_of_relation(declaration.continued->view)),
                          "Without since it is this time.");
}

void end_continued(const SourceDeclaration& declaration) {
    const OpenCounter& old = *declaration.continued;
    if (!old.row.has_ended) {
        end_charge(old);
        delete_streams(old.row.number);
        mark_counter_ended(old.row.number);
    }
    forget_tally_key(old.row.number); // the new counter has it
}

void charge_continuing(const SourceDeclaration& declaration, Numeric epsilon, const char* purpose,
                       std::int64_t number) {
    const Predecessor& old = declaration.row.old;
    const std::int64_t per = declaration.unit.per_days * USECS_PER_DAY;
    Numeric zero = zero_epsilon();
    Numeric more = larger(zero, difference(epsilon, old.epsilon));
    const auto charge = [&](Numeric charged, EntryRange begins) {
        charge_budget(declaration.budget, charged, purpose, number, declaration.range, begins);
    };
    if (per == 0) {
        charge(more, kAllTimes);
        return;
    }
    charge(epsilon, {old.end, DT_NOEND});
    const bool meets_earlier = declaration.range.since - old.end < per;
    if (meets_earlier && is_less(zero, more))
        charge(more, {DT_NOBEGIN, old.end});
}

} // namespace dp_counter::pg
