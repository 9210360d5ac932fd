// dp_source_create, dp_source_drop: make a view of the caller a source, or an ordinary view again.
#include <cstring>

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/calendar/time_zones.hpp"
#include "pg/persons/columns.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/guarantee.hpp"
#include "pg/sources/reattach.hpp"
#include "pg/sources/relations_read.hpp"
#include "pg/sources/source_history.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/sources_table.hpp"
#include "pg/vetting/person_wise.hpp"
#include "pg/vetting/rewritten_view.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "commands/comment.h"
#include "nodes/nodes.h"
#include "storage/lmgr.h"
#include "utils/array.h"
}

namespace dp_counter::pg {
namespace {

/// Of dp_source_create.
struct Arguments {
    Argument source, budget, person, at, time_zone, person_wise, window_wise, never_fails;
    Argument same_persons;
};

void check_view(Oid source) {
    if (get_rel_relkind(source) != RELKIND_VIEW)
        ereport(
            ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE),
             errmsg("\"%s\" is not a view", name_of_relation(source)),
             errhint("Create a view with the columns that may be counted, and name that view.")));
    if (get_rel_persistence(source) == RELPERSISTENCE_TEMP)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("source \"%s\" cannot be temporary", name_of_relation(source))));
}

AttrNumber person_column(Oid source, const Argument& argument) {
    const AttrNumber column = read_column(source, argument, "person");
    if (!is_person_type(column_type(source, column), column_collation(source, column)))
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("person must be of type smallint, integer, bigint, uuid, text, varchar or "
                        "bytea, not %s",
                        format_type_be(column_type(source, column))),
                 errhint("Cast the column in the view, so that equal persons are equal values: "
                         "lower(email::text). Text needs a deterministic collation.")));
    return column;
}

AttrNumber time_column(Oid source, const Argument& argument) {
    const AttrNumber column = read_column(source, argument, "at");
    const Oid type = column_type(source, column);
    if (type != TIMESTAMPTZOID && type != TIMESTAMPOID && type != DATEOID)
        ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                        errmsg("at must be of type timestamptz, timestamp or date, not %s",
                               format_type_be(type)),
                        errhint("Cast the column in the view.")));
    return column;
}

constexpr const char* kPersonWiseHint =
    "Declare the source with person_wise => true if deleting a person's rows from the tables "
    "removes this person's rows from the view and changes no other row.";
constexpr const char* kWindowWiseHint =
    "Declare the source with window_wise => true if deleting a person's rows of one own window "
    "from the tables removes the view's rows of this person and window and changes no other row.";

/// Reads for what the owner vouches, and raises an error unless the view is simple or that is
/// enough for the budget.
void read_words(const Arguments& arguments, Oid source, bool renews, SourceRow& row) {
    row.window_wise = is_true(arguments.window_wise);
    row.person_wise = row.window_wise || is_true(arguments.person_wise);
    const char* hint = renews ? kWindowWiseHint : kPersonWiseHint;
    if (renews && row.person_wise && !row.window_wise)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("person_wise is not enough under a budget that renews"),
                        errhint("%s", hint)));
    const char* reason = row.person_wise ? nullptr : why_not_person_wise(source);
    if (reason != nullptr)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("source \"%s\" is not a simple view", name_of_relation(source)),
                        errdetail("%s", reason), errhint("%s", hint)));
}

/// Columns named in an array of text.
List* read_columns(Oid source, const Argument& argument) {
    Datum* names = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    if (!argument.isnull)
        deconstruct_array(DatumGetArrayTypeP(argument.value), TEXTOID, -1, false, TYPALIGN_INT,
                          &names, &nulls, &count);
    List* columns = NIL;
    for (int i = 0; i < count; ++i)
        columns = list_append_unique_int(columns,
                                         read_column(source, {names[i], nulls[i]}, "never_fails"));
    return columns;
}

constexpr const char* kOwnComment = "Source of private counters. ";

/// Locks the view against DROP, and as COMMENT does, and then the source: in the order of all.
/// check_owner was called before, so that nobody else can make others wait.
void lock_declaration(Oid source) {
    LockRelationOid(source, ShareUpdateExclusiveLock);
    check_owner(source);
    lock_source(source, true);
    check_owner(source);
}

bool has_own_comment(Oid source) {
    const char* comment = GetComment(source, RelationRelationId, 0);
    return comment != nullptr && std::strncmp(comment, kOwnComment, std::strlen(kOwnComment)) == 0;
}

/// Says what the view is.
void comment_on_source(Oid source, const SourceRow& row) {
    CreateComments(source, RelationRelationId, 0,
                   psprintf("%sA row is an event of the person in column %s at the time in column "
                            "%s; periods are those of time zone %s. Counters charge budget %s.",
                            kOwnComment, quote_identifier(get_attname(source, row.person, false)),
                            quote_identifier(get_attname(source, row.at, false)), row.time_zone,
                            quoted_name(row.budget)));
}

/// Raises invalid_parameter_value where a running counter of the source would get other offsets
/// from UTC by the new name of the time zone. Those of a name that has gone are the ones that the
/// counter's last tick had, or its declaration.
void check_same_offsets(Oid source, const SourceRow& row, const char* renamed) {
    const std::int32_t days = require_budget(row.budget).per_days;
    ListCell* cell = nullptr;
    foreach (cell, counters_of_source(source)) {
        const auto found = find_counter(lfirst_oid(cell));
        if (!found)
            continue; // dropped meanwhile
        const SourceCounterRow& counter = *found->declared;
        const std::int64_t offsets = pg_tzset(row.time_zone) == nullptr
                                         ? counter.offsets
                                         : digest_of_offsets(row.time_zone, counter.since, days);
        if (digest_of_offsets(renamed, counter.since, days) != offsets)
            ereport(ERROR,
                    (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                     errmsg("time zone \"%s\" has other offsets from UTC than \"%s\"", renamed,
                            row.time_zone),
                     errdetail("The periods of counter %s are those of the latter.",
                               quoted_name(lfirst_oid(cell))),
                     errhint("Give another name of the same zone, or install the time zone data "
                             "that have the old name. For another zone declare another view, whose "
                             "counters may continue those of this one (continues => ...).")));
    }
}

/// Where a source of an independent budget reads the same table: both budgets may be about the same
/// persons, and neither knows. Says it of the first such source.
void tell_of_shared_tables(Oid source, const SourceRow& row) {
    List* tables = NIL;
    const ListCell* cell = nullptr;
    foreach (cell, relations_read(source))
        if (!is_view(lfirst_oid(cell)))
            tables = lappend_oid(tables, lfirst_oid(cell));
    const std::int64_t root = require_budget(row.budget).root;
    foreach (cell, all_sources()) {
        const Oid other = lfirst_oid(cell);
        SourceRow others{};
        if (other == source || !read_source(other, others) || !OidIsValid(others.budget) ||
            require_budget(others.budget).root == root)
            continue;
        const Oid shared = first_read(other, tables);
        if (!OidIsValid(shared))
            continue;
        ereport(
            NOTICE,
            (errmsg(R"(source "%s" reads "%s", and so does source "%s")", name_of_relation(source),
                    name_of_relation(shared), name_of_relation(other)),
             errdetail("What budgets \"%s\" and \"%s\" promise to a person who is in both adds "
                       "up: neither knows of the other one.",
                       name_of_relation(row.budget), name_of_relation(others.budget)),
             errhint("Where the persons are the same, name one budget in both.")));
        return;
    }
}

/// What the owner vouches for is what the second declaration says; persons may move to a column of
/// which the owner vouches that it has the same values, and the time zone may have another name.
void check_declared_again(Oid source, const SourceRow& existing, const SourceRow& row,
                          bool are_same_persons) {
    const bool moves = row.person != existing.person;
    const bool renames = std::strcmp(row.time_zone, existing.time_zone) != 0;
    const auto type = [&](AttrNumber column) { return plain_type(column_type(source, column)); };
    if (row.budget_number != existing.budget_number || row.at != existing.at ||
        type(row.person) != type(existing.person))
        ereport(ERROR,
                (errcode(ERRCODE_DUPLICATE_OBJECT),
                 errmsg("\"%s\" is already a source", name_of_relation(source)),
                 errdetail("It has %s, the time column \"%s\", the time zone \"%s\" and "
                           "persons of type %s.",
                           OidIsValid(existing.budget)
                               ? psprintf("the budget \"%s\"", name_of_relation(existing.budget))
                               : "a budget whose view is lost",
                           get_attname(source, existing.at, false), existing.time_zone,
                           format_type_be(column_type(source, existing.person))),
                 errhint("For others declare another view, whose counters may continue "
                         "those of this one (continues => ...). Or drop its counters, and "
                         "then use dp_source_drop.")));
    if (moves && !are_same_persons)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("the persons of source \"%s\" are in column \"%s\", not \"%s\"",
                        name_of_relation(source), get_attname(source, existing.person, false),
                        get_attname(source, row.person, false)),
                 errhint("If each person has the same value in both columns, say so: same_persons "
                         "=> true. Else a person counts as another one, anew.")));
    if (renames)
        check_same_offsets(source, existing, row.time_zone);
}

} // namespace

DP_FUNCTION(dp_source_create) {
    PreventCommandIfReadOnly("dp_source_create()");
    const auto arguments = arguments_of<Arguments>(fcinfo);
    const Oid source = read_relation(arguments.source, "source");
    const Oid budget = read_relation(arguments.budget, "budget");
    check_owner(source);
    check_view(source);
    lock_declaration(source);
    check_budget_owned(budget);
    SourceRow row{};
    row.budget = budget;
    const BudgetRow charged = require_budget(budget);
    row.budget_number = charged.number;
    row.person = person_column(source, arguments.person);
    row.at = time_column(source, arguments.at);
    SourceRow existing{};
    const bool is_source = read_source(source, existing);
    row.time_zone = existing.time_zone;
    if (is_source && arguments.time_zone.isnull)
        (void)find_zone(existing.time_zone);
    else
        row.time_zone = read_time_zone(arguments.time_zone);
    row.never_fails = read_columns(source, arguments.never_fails);
    check_source_calls(source, row); // first: there the other check's hint would not help
    read_words(arguments, source, charged.per_days != 0, row);
    const bool are_same_persons = is_true(arguments.same_persons);
    if (is_source) {
        check_declared_again(source, existing, row, are_same_persons);
        update_source(source, row);
    } else {
        take_source_types(budget, plain_type(column_type(source, row.person)),
                          column_type(source, row.at));
        insert_source(source, row);
    }
    book_source(source, row);
    if (!is_source && arguments.time_zone.isnull)
        ereport(NOTICE,
                (errmsg(column_type(source, row.at) == TIMESTAMPTZOID
                            ? "periods are those of time zone %s, which the session has"
                            : "periods end by the clock of time zone %s, which the session has",
                        row.time_zone),
                 errhint("To have others, drop the source and declare it with time_zone.")));
    forget_lost_sources();
    reattach_counters(source, row, are_same_persons);
    restate_guarantees(source, row);
    check_budget_owned(budget); // both may have changed while the call waited
    check_owner(source);
    if (is_source ? has_own_comment(source) // else its owner has said it
                  : GetComment(source, RelationRelationId, 0) == nullptr)
        comment_on_source(source, row);
    if (!is_source)
        tell_of_shared_tables(source, row);
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_source_drop) {
    PreventCommandIfReadOnly("dp_source_drop()");
    const Oid source = read_relation(fcinfo->args[0], "source");
    check_owner(source);
    require_source(source);
    lock_declaration(source);
    require_source(source);
    const List* counters = counters_of_source(source);
    if (counters != NIL)
        ereport(ERROR,
                (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                 errmsg("cannot drop source \"%s\" because counters depend on it",
                        name_of_relation(source)),
                 errdetail("Counter %s depends on it.", quoted_name(linitial_oid(counters))),
                 errhint("Drop the counters first, or end them (dp_counter_end) to keep their "
                         "releases. The epsilon of these stays spent.")));
    delete_source(source);
    forget_source(source); // of counters that have ended
    check_owner(source);   // it may have changed while the call waited for them
    if (has_own_comment(source))
        CreateComments(source, RelationRelationId, 0, nullptr);
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
