// dp_source_suggest: a bound for a counter, chosen in private: per_person, or the upper bound of a
// sum or an average; and what it keeps.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/accuracy/independent_error.hpp"
#include "core/accuracy/kept_share.hpp"
#include "core/accuracy/stream_error.hpp"
#include "core/count/bound_choice.hpp"

#include "pg/persons/groups.hpp"
#include "pg/reports/report.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/tables/contributions_table.hpp"
#include "pg/worker/serve.hpp"

extern "C" {
#include "access/xact.h"
}

namespace dp_counter::pg {
namespace {

struct Arguments {
    Argument source, name, epsilon, plan_epsilon, every, event, sum, avg, per_person, groups;
    Argument since, until;
};

constexpr double kDaysOfMonth = 146097.0 / 4800; // on average, of the calendar's 400 years
constexpr std::int64_t kMostHorizon = 10000000;

double read_plan_epsilon(const Argument& argument) {
    check_not_null(argument, "plan_epsilon",
                   "It is the epsilon of the counter that will have the bound.");
    const double epsilon = DatumGetFloat8(argument.value);
    if (!(epsilon >= Epsilon::kMin && epsilon <= Epsilon::kMax))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("plan_epsilon must be between %g and %g, not %g", Epsilon::kMin,
                        Epsilon::kMax, epsilon),
                 errhint("It is the epsilon of the counter that will have the bound, and not "
                         "charged by this call.")));
    return epsilon;
}

/// A number of groups, or the bound of a person.
std::int64_t read_number(const Argument& argument, const char* parameter, std::int64_t most) {
    const std::int64_t number = argument.isnull ? 1 : DatumGetInt32(argument.value);
    check_number(parameter, number, most, "It is that of the counter that will have the bound.");
    return number;
}

/// The column of a sum or an average; 0 where the bound is per_person.
AttrNumber read_measured(const Arguments& arguments, Oid source) {
    const Argument& sum = arguments.sum;
    const Argument& avg = arguments.avg;
    const Argument& per_person = arguments.per_person;
    if (sum.isnull && avg.isnull) {
        if (!per_person.isnull)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("per_person requires sum or avg"),
                            errhint("Without them it is per_person that is chosen.")));
        return InvalidAttrNumber;
    }
    if (!sum.isnull && !avg.isnull)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("sum and avg exclude each other"),
                 errhint("A counter has one measure.")));
    check_not_null(per_person, "per_person",
                   "It is that of the counter that will have the bound: so many events of a person "
                   "can each change by it.");
    return sum.isnull ? measured_column(source, MeasureKind::avg, avg)
                      : measured_column(source, MeasureKind::sum, sum);
}

/// In days.
double length_of(const Interval& every) {
    return every.month * kDaysOfMonth + every.day +
           static_cast<double>(every.time) / static_cast<double>(USECS_PER_DAY);
}

/// The days that the units of a report cover, on average: for each person, of the windows of P days
/// that are wholly in n days there are (n - P + 1) / P.
double covered_days(const Report& report) {
    if (TIMESTAMP_NOT_FINITE(report.request->range.since) ||
        TIMESTAMP_NOT_FINITE(report.request->range.until))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("since and until must be finite"),
                 errhint("A bound is worth its noise if there are enough units for the "
                         "number of periods in the range.")));
    if (report.unit.per_days == 0)
        return static_cast<double>(report.request->range.until - report.request->range.since) /
               static_cast<double>(USECS_PER_DAY);
    const WholeDays days = whole_days(report.request->range);
    return static_cast<double>(days.end - days.first - report.unit.per_days + 1);
}

/// How many units are not worth one more of the bound: of a counter that the budget has by default,
/// with its plan_epsilon, groups and, where `upper` is chosen, per_person. A running total ends
/// with the range; the change of its middle period stands for all.
std::int64_t enough_units(const Report& report) {
    const Interval& every = report.request->every;
    const double epsilon = report.request->plan_epsilon;
    const double periods = covered_days(report) / length_of(every);
    const auto weight = static_cast<double>(report.request->weight);
    if (report.unit.per_days != 0)
        return run([&] {
            const PrivacyUnit plan{Epsilon(epsilon)};
            return units_not_worth_more(periods * weight,
                                        std::sqrt(IndependentError(plan).variance_at(1)));
        });
    if (periods > static_cast<double>(kMostHorizon))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("there must be at most %lld periods between since and until",
                               static_cast<long long>(kMostHorizon)),
                        errhint("Choose a longer every.")));
    return run([&] {
        const std::int64_t horizon = std::max<std::int64_t>(std::llround(periods), 1);
        const std::int64_t middle = (horizon + 1) / 2;
        StreamError errors({horizon, PrivacyUnit{Epsilon(epsilon)}, {}, {}});
        return units_not_worth_more(static_cast<double>(horizon) * weight,
                                    std::sqrt(errors.variance_at(middle, middle - 1)));
    });
}

/// Of all events, or of the greatest values of all units.
KeptShare kept_by(const SuggestedBound& suggested) {
    if (suggested.scale == 0) // no number was released
        return kept_share({}, 1);
    const ReleasedPart parts[] = {
        {static_cast<double>(suggested.within), 1, 1},
        {static_cast<double>(suggested.beyond), 0, 1.0 / kBeyondWeight},
    };
    return kept_share(parts, suggested.scale);
}

constexpr int kColumns = 8;

Oid create_table(const Report& report, bool is_upper) {
    const Oid types[kColumns] = {is_upper ? Oid{INT8OID} : Oid{INT4OID},
                                 FLOAT8OID,
                                 FLOAT8OID,
                                 FLOAT8OID,
                                 INT8OID,
                                 NUMERICOID,
                                 FLOAT8OID,
                                 INTERVALOID};
    const char* columns = psprintf(
        "%s NOT NULL, kept_at_most pg_catalog.float8, kept_low pg_catalog.float8 NOT NULL, "
        "kept_high pg_catalog.float8 NOT NULL, most pg_catalog.int8 NOT NULL, epsilon "
        "pg_catalog.numeric NOT NULL, plan_epsilon pg_catalog.float8 NOT NULL, every "
        "pg_catalog.interval NOT NULL",
        is_upper ? "upper pg_catalog.int8" : "per_person pg_catalog.int4");
    return create_report_table(report, columns, types, kColumns);
}

void store(const Report& report, Oid table, bool is_upper, const SuggestedBound& suggested) {
    const KeptShare kept = kept_by(suggested);
    Datum values[] = {is_upper ? Int64GetDatum(suggested.bound)
                               : Int32GetDatum(static_cast<std::int32_t>(suggested.bound)),
                      Float8GetDatum(kept.share),
                      Float8GetDatum(kept.low),
                      Float8GetDatum(kept.high),
                      Int64GetDatum(suggested.most),
                      NumericGetDatum(report.epsilon),
                      Float8GetDatum(report.request->plan_epsilon),
                      IntervalPGetDatum(&report.request->every)};
    bool nulls[kColumns] = {false, std::isnan(kept.share)};
    insert_report_row(table, values, nulls);
    if (is_upper)
        return;
    const KeptBound bound{static_cast<std::int32_t>(suggested.bound), kept,
                          GetCurrentTransactionStartTimestamp()};
    store_kept(report.request->source, report.request->event, &bound, 1);
}

bool suggest(const Report& report) {
    const bool is_upper = report.request->column != InvalidAttrNumber;
    const std::int64_t enough = enough_units(report);
    const Oid table = create_table(report, is_upper);
    auto* units =
        static_cast<UnitsAbove*>(allocate_secret(CurrentMemoryContext, sizeof(UnitsAbove)));
    read_units(
        report, report.request->column,
        [](std::int64_t most, void* above) { static_cast<UnitsAbove*>(above)->add(most); }, units);
    const Release release = begin_release(report.privacy);
    const SuggestedBound suggested = run([&] {
        return suggest_bound(*units, is_upper ? kMostValue : kMostPerPerson, enough, release);
    });
    store(report, table, is_upper, suggested);
    return !is_upper;
}

} // namespace

DP_FUNCTION(dp_source_suggest) {
    const auto arguments = arguments_of<Arguments>(fcinfo);
    const double plan_epsilon = read_plan_epsilon(arguments.plan_epsilon);
    check_not_null(arguments.every, "every",
                   "It is the length of the counter's periods, for example '1 day'.");
    const Interval& every = *DatumGetIntervalP(arguments.every.value);
    check_every(every);
    check_not_null(arguments.since, "since",
                   "A bound is worth its noise if there are enough units for the number of periods "
                   "in the range.");
    const ReportCall call(fcinfo, "dp_source_suggest", "dp_suggest_worker", arguments);
    ReportRequest request = begin_report(call);
    request.plan_epsilon = plan_epsilon;
    request.every = every;
    request.column = read_measured(arguments, request.source);
    request.weight = read_number(arguments.groups, "groups", kMostGroups) *
                     read_number(arguments.per_person, "per_person", kMostPerPerson);
    ask_for_report(call, request);
    PG_RETURN_VOID();
}

DP_WORKER(dp_suggest_worker) {
    serve(main_argument,
          [](const char* request, Size /*size*/) { serve_report(request, "suggestion", suggest); });
}

} // namespace dp_counter::pg
