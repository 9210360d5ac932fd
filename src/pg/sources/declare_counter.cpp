#include "pg/sources/declare_counter.hpp"

#include "core/accuracy/anchored_error.hpp"
#include "core/accuracy/bins_error.hpp"
#include "core/accuracy/box_error.hpp"
#include "core/accuracy/independent_error.hpp"

#include "pg/budgets/budget_rows.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/calendar/time_zones.hpp"
#include "pg/persons/columns.hpp"
#include "pg/persons/groups.hpp"
#include "pg/persons/reader.hpp"
#include "pg/persons/tallies.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"
#include "pg/sources/analyst.hpp"
#include "pg/sources/continues.hpp"
#include "pg/sources/groups_from.hpp"
#include "pg/sources/reattach.hpp"
#include "pg/sources/touched_periods.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "storage/lmgr.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

constexpr std::int64_t kMostSensitivity = std::int64_t{1} << 31;

constexpr const char* kRequired =
    "It is how many events of each person count. dp_source_suggest chooses it in private. Without "
    "it, persons => true counts the persons of each period, and active => '28 days' those who came "
    "in so many days before its end.";

void read_bound(const Argument& argument, SourceCounterRow& row) {
    if (row.measure.kind == MeasureKind::persons && argument.isnull)
        return; // a person counts in every period
    if (row.active != 0)
        return; // and at its end
    check_not_null(argument, "per_person", kRequired);
    row.per_person = DatumGetInt32(argument.value);
    check_number("per_person", row.per_person, kMostPerPerson,
                 "It is the number of events of each person that count, in each own window or, "
                 "where the budget does not renew, over the life of the counter.");
    if (row.per_person * row.measure.largest() > kMostSensitivity)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("per_person times %s must be at most %lld, not %lld times %lld",
                               row.measure.is_average() ? "upper less lower" : "the largest value",
                               static_cast<long long>(kMostSensitivity),
                               static_cast<long long>(row.per_person),
                               static_cast<long long>(row.measure.largest()))));
}

/// Raises invalid_parameter_value for what active persons do not have.
void check_alone(const SourceArguments& arguments, const SourceCounterRow& row) {
    const struct {
        const char* name;
        bool is_given;
        const char* hint;
    } others[] = {
        {"per_person", !arguments.per_person.isnull,
         "A person counts at most once at the end of a period: there is nothing to bound."},
        {"cumulative", is_true(arguments.cumulative),
         "Each release is the number at the end of its period."},
        {"horizon", !arguments.horizon.isnull,
         "The error of active persons does not grow with time: leave horizon out. dp_counter_end "
         "ends the counter when it is no longer wanted."},
        {"continues", !arguments.continues.isnull,
         "End the other counter with dp_counter_end, and begin anew."},
    };
    for (const auto& other : others)
        if (row.active != 0 && other.is_given)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("active and %s exclude each other", other.name),
                            errhint("%s", other.hint)));
}

/// Raises invalid_parameter_value where the budget is not for all days that active persons need.
void check_range_of_stocks(const SourceDeclaration& declaration) {
    const EntryRange budgeted = require_budget(declaration.budget).range;
    if (declaration.range.since < budgeted.since)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("since must be at least %d days after %s, from where budget \"%s\" is for "
                        "rows",
                        declaration.row.active, text_of(budgeted.since),
                        name_of_relation(declaration.budget)),
                 errhint("Events of the days of active before since count, too. Choose a later "
                         "since, or a budget that is for earlier rows.")));
}

void notice_seconds(const char* parameter, const Interval& interval) {
    if (interval.time % USECS_PER_MINUTE == 0)
        return;
    ereport(NOTICE,
            (errmsg("%s is not whole minutes: \"%s\"", parameter, text_of(interval)),
             errhint("A number without a unit is seconds: for days write '7 days'. Nothing is "
                     "released before the first tick: until then you can drop the counter.")));
}

void read_schedule(const SourceArguments& arguments, std::int64_t horizon,
                   SourceDeclaration& declaration) {
    SourceCounterRow& row = declaration.row;
    check_not_null(arguments.every, "every", "It is the length of a period, for example '1 day'.");
    const Oid type = column_type(row.source, declaration.source.at);
    if (row.old.number == 0 && !OidIsValid(declaration.replaced))
        check_not_null(arguments.since, "since",
                       "It is the beginning of the first period, for example '2025-01-01'.");
    row.every = *DatumGetIntervalP(arguments.every.value);
    row.since = !arguments.since.isnull ? DatumGetTimestamp(arguments.since.value)
                : row.old.number == 0
                    ? declaration.replaced_since
                    : local_of_face(type, declaration.source.time_zone, row.old.end);
    if (!arguments.grace.isnull)
        row.grace = *DatumGetIntervalP(arguments.grace.value);
    const Schedule schedule = schedule_of(row, declaration.source);
    check_schedule(schedule, std::max<std::int64_t>(horizon, 1));
    notice_seconds("every", row.every);
    notice_seconds("grace", row.grace);
    declaration.range = {days_before(face_of_boundary(schedule, 0), row.active),
                         horizon == kUnbounded ? DT_NOEND : face_of_boundary(schedule, horizon)};
    if (row.active != 0)
        check_range_of_stocks(declaration);
    check_begins_later(declaration);
    if (row.old.number == 0 &&
        face_of_local(TIMESTAMPTZOID, schedule.time_zone, row.since) > GetCurrentTimestamp())
        ereport(NOTICE, (errmsg("the first period begins on %s, which is still to come",
                                text_of(row.since))));
}

bool is_temporary(Oid type) {
    HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
    if (!HeapTupleIsValid(tuple))
        return false;
    const Oid schema = reinterpret_cast<const FormData_pg_type*>(GETSTRUCT(tuple))->typnamespace;
    ReleaseSysCache(tuple);
    return isAnyTempNamespace(schema);
}

void read_by(const SourceArguments& arguments, const WrittenGroups& written,
             SourceDeclaration& declaration) {
    SourceCounterRow& row = declaration.row;
    declaration.streams = 1;
    if (arguments.by.isnull) {
        if (!written.array.isnull)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("groups requires by"),
                            errhint("Name the column that contains the groups.")));
        if (!arguments.others.isnull)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("others requires by"),
                            errhint("It is the group of the rows whose group is not declared.")));
        return;
    }
    row.by = read_group_column(row.source, arguments.by);
    const Oid type = column_type(row.source, row.by);
    if (is_temporary(type)) // it would take the counter's view along, and no event trigger runs
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("by must not be of temporary type %s", format_type_be(type)),
                        errhint("Cast the column to text in the view, or use a permanent type.")));
    if (written.array.isnull)
        ereport(
            ERROR,
            (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("by requires groups"),
             errhint(
                 "The groups are public. Declare all of them, including those without rows, or "
                 "read them from a public table with groups_from. dp_source_groups finds groups "
                 "in private.")));
    check_not_read(written, row.source);
    Groups groups = read_groups(DatumGetArrayTypeP(written.array.value), type);
    if (!arguments.others.isnull) {
        groups = with_others(groups, arguments.others.value);
        row.others = groups.count;
    }
    row.groups = declaration.streams = groups.count;
    declaration.groups = names_of(groups);
    declaration.columns[1] = {get_attname(row.source, row.by, false),
                              format_type_be_qualified(type), sql_of_group(groups)};
    declaration.column_count = 2;
}

ViewColumn period_column(Oid type) {
    if (type == TIMESTAMPTZOID)
        return {"period", "timestamp with time zone", "period"};
    if (type == TIMESTAMPOID)
        return {"period", "timestamp without time zone", "pg_catalog.timezone('UTC', period)"};
    return {"period", "date", "pg_catalog.date(pg_catalog.timezone('UTC', period))"};
}

/// The most blocks of so many periods that one unit can change.
std::int64_t blocks_of_unit(const SourceDeclaration& declaration, std::int64_t horizon,
                            std::int32_t block) {
    return touched_blocks(declaration.row, declaration.source, declaration.unit.per_days, horizon,
                          block);
}

/// The box noise of least variance.
BoxLaw choose_box(const SourceDeclaration& declaration, std::int64_t horizon, double epsilon) {
    // A window of days can begin within a block, unless the only block is all of the counter.
    const bool begins_within =
        declaration.unit.per_days > 1 && (horizon == kUnbounded || horizon > BoxLaw::kMostSize);
    const std::int64_t fewest = begins_within ? 2 : 1;
    std::int64_t blocks[BoxLaw::kMostSize];
    std::int32_t sizes = 0; // longer blocks than the first that meets the fewest have no less noise
    do {
        blocks[sizes] = blocks_of_unit(declaration, horizon, sizes + 1);
        ++sizes;
    } while (sizes < BoxLaw::kMostSize && blocks[sizes - 1] > fewest);
    return run([&] {
        return dp_counter::choose_box(Epsilon(epsilon),
                                      std::span(blocks, static_cast<std::size_t>(sizes)));
    });
}

/// Of active persons: the less of noise for each period by itself and anchored noise. A unit
/// changes a person's stock on one interval: at the ends that are strictly within its days and
/// those of `active` after them; with groups also the one in which the person was before.
void set_noise_of_stocks(SourceDeclaration& declaration, double epsilon) {
    const SourceCounterRow& row = declaration.row;
    const std::int32_t per = declaration.unit.per_days;
    if (per == 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("active requires a budget with per"),
                        errdetail("In a whole life a person becomes active, and ceases to be, "
                                  "without a bound."),
                        errhint("Create a budget that renews, for example with per => '%d days'.",
                                row.active)));
    if (row.active < per)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("active must be at least the %d days of the budget's per, not %d",
                               per, row.active),
                        errdetail("In one own window a person could become active more than once."),
                        errhint("Use a budget whose per is at most active.")));
    const std::int64_t most = touched_ends(row, declaration.source, per);
    if (most > AnchoredLaw::kMostSteps)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("the days of active and of the budget's per must have at most %lld periods",
                        static_cast<long long>(AnchoredLaw::kMostSteps)),
                 errhint("Choose a longer every.")));
    const std::int64_t groups = stocks_of_person(row);
    declaration.sensitivity = std::max<std::int64_t>(most, 1) * groups;
    const bool is_anchored = most > 1 && run([&] {
                                 const Epsilon all(epsilon);
                                 return AnchoredLaw({all, groups}, most).mse() <
                                        PrivacyUnit(all, groups * most).scale(1).variance();
                             });
    if (is_anchored) {
        declaration.sensitivity = groups;
        declaration.block = static_cast<std::int32_t>(most);
    }
}

/// For what the noise is made: sensitivity and block of the declaration. Persons without a bound
/// and without groups change no period by more than 1.
void set_noise(SourceDeclaration& declaration, std::int64_t horizon, double epsilon) {
    const SourceCounterRow& row = declaration.row;
    if (row.active != 0) {
        set_noise_of_stocks(declaration, epsilon);
        return;
    }
    if (row.per_person != 0) {
        declaration.sensitivity = row.per_person * row.measure.largest();
        declaration.is_in_totals =
            row.measure.kind == MeasureKind::histogram && run([&] {
                return is_better_in_totals(PrivacyUnit(Epsilon(epsilon), declaration.sensitivity),
                                           row.measure.streams());
            });
        return;
    }
    if (declaration.unit.per_days == 0 && horizon == kUnbounded)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("persons without per_person requires a horizon where the budget is "
                               "for a person's whole life"),
                        errhint("A person may count in every period. Declare a horizon, "
                                "per_person, or a budget with per.")));
    if (row.by == InvalidAttrNumber && !declaration.cumulative) {
        const BoxLaw law = choose_box(declaration, horizon, epsilon);
        declaration.sensitivity = law.unit.sensitivity;
        declaration.block = law.size;
        return;
    }
    declaration.sensitivity =
        blocks_of_unit(declaration, horizon, 1) + moved_periods(row, declaration.unit.per_days);
}

/// Without a horizon nothing else ends them.
void check_few_periods(const SourceDeclaration& declaration, std::int64_t horizon) {
    if (blocks_of_unit(declaration, horizon, 1) > kMostPeriods)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("an own window must have at most %lld periods where persons are counted "
                        "without per_person or a horizon",
                        static_cast<long long>(kMostPeriods)),
                 errhint("Choose a longer every.")));
}

/// The variance of a period's noise; of totals something that rises with it.
double variance_of(const SourceDeclaration& declaration, double epsilon) {
    return run([&] {
        const PrivacyUnit unit(Epsilon(epsilon), declaration.sensitivity);
        return declaration.block != 0 ? BoxLaw(unit, declaration.block).variance()
                                      : unit.scale(1).variance();
    });
}

void notice_useless_bound(const SourceDeclaration& declaration, std::int64_t horizon,
                          double epsilon) {
    if (declaration.unit.per_days == 0 && horizon == kUnbounded)
        return; // it has to have one
    SourceDeclaration unbounded = declaration;
    unbounded.row.per_person = 0;
    set_noise(unbounded, horizon, epsilon);
    if (variance_of(unbounded, epsilon) < variance_of(declaration, epsilon))
        ereport(NOTICE, (errmsg("per_person => %lld has more noise than no bound",
                                static_cast<long long>(declaration.row.per_person)),
                         errdetail("Without per_person a person counts in every period, with less "
                                   "noise."),
                         errhint("Leave per_person out.")));
}

bool read_cumulative(const Argument& argument, const SourceDeclaration& declaration) {
    if (declaration.row.measure.kind != MeasureKind::histogram)
        return argument.isnull ? declaration.unit.per_days == 0 && declaration.row.active == 0
                               : DatumGetBool(argument.value);
    if (is_true(argument))
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("histogram requires cumulative => false"),
                        errhint("Leave cumulative out. dp_counter_changes and dp_counter_quantiles "
                                "add up periods.")));
    return false;
}

} // namespace

NoiseOfPeriods SourceDeclaration::noise() const {
    if (is_in_totals)
        return {kBinsName, row.measure.streams()};
    if (block == 0)
        return {kIndependentName, 0};
    return {row.active != 0 ? kAnchoredName : kBoxName, block};
}

SourceDeclaration read_declaration(const SourceArguments& arguments, bool is_plan) {
    const WrittenGroups groups =
        read_written_groups(arguments.groups, arguments.groups_from, arguments.groups_column);
    SourceDeclaration declaration{};
    SourceCounterRow& row = declaration.row;
    check_not_null(arguments.source, "source",
                   "Name a view that dp_source_create has declared as a source. For a counter that "
                   "calls and triggers feed, use dp_event_counter_create.");
    row.source = DatumGetObjectId(arguments.source.value);
    check_may_declare(arguments); // before the lock, so that nobody else can make others wait
    LockRelationOid(row.source, AccessShareLock); // against DROP and a change of the owner
    check_may_declare(arguments);
    row.analyst = !is_owner(row.source);
    const Oid owner = owner_of(row.source);
    declaration.owner = owner != GetUserId() ? owner : InvalidOid;
    check_still_simple(row.source, require_source(row.source)); // it locks the tables
    lock_source(row.source, false);
    declaration.source = require_source(row.source);
    declaration.budget = read_charged_budget(arguments, declaration.source);
    const std::int64_t periods =
        arguments.horizon.isnull ? kUnbounded : DatumGetInt64(arguments.horizon.value);
    if (!arguments.horizon.isnull)
        check_number("horizon", periods, kMostPeriods,
                     "It is the number of periods in the life of the counter; without it the "
                     "counter goes on.");
    row.event = read_event_column(row.source, arguments.event);
    row.measure = read_measure(row.source, arguments.measure);
    if (row.measure.kind == MeasureKind::active)
        row.active = read_active(arguments.measure.active);
    check_alone(arguments, row);
    read_bound(arguments.per_person, row);
    declaration.columns[0] = period_column(column_type(row.source, declaration.source.at));
    declaration.column_count = 1;
    read_by(arguments, groups, declaration);
    check_number_of_bins(row.measure, declaration.streams);
    declaration.streams *= row.measure.streams();
    row.key = new_tally_key(CurrentMemoryContext);
    row.remembered = remembered_of(row, declaration.source);
    read_continued(arguments, is_plan, declaration);
    read_schedule(arguments, periods, declaration);
    check_never_fails(row, declaration.source, ERRCODE_FEATURE_NOT_SUPPORTED);
    declaration.unit = unit_of_source(declaration.source);
    row.offsets =
        digest_of_offsets(declaration.source.time_zone, row.since, declaration.unit.per_days);
    declaration.cumulative = read_cumulative(arguments.cumulative, declaration);
    const double epsilon = mechanism_epsilon(read_decimal_epsilon(arguments.epsilon));
    set_noise(declaration, periods, epsilon);
    if (row.measure.kind == MeasureKind::persons && row.per_person == 0)
        check_few_periods(declaration, periods);
    if (row.measure.kind == MeasureKind::persons && row.per_person != 0)
        notice_useless_bound(declaration, periods, epsilon);
    return declaration;
}

} // namespace dp_counter::pg
