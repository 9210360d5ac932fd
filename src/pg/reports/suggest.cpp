// dp_source_suggest: a bound for a counter, chosen in private: per_person, or the upper bound of a
// sum.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/accuracy/independent_error.hpp"
#include "core/accuracy/stream_error.hpp"
#include "core/count/bound_choice.hpp"

#include "pg/reports/report.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/sources/declare_counter.hpp"
#include "pg/sources/read_measure.hpp"
#include "pg/worker/serve.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

enum ArgumentIndex { kSource, kName, kEpsilon, kPlanEpsilon, kEvery, kEvent, kSum, kSince, kUntil };

constexpr ReportCall kCall{
    "dp_source_suggest", "dp_suggest_worker", kSource, kName, kEpsilon, kEvent, kSince, kUntil};
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
/// with its plan_epsilon and a bound of 1. A running total ends with the range; the change of its
/// middle period stands for all.
std::int64_t enough_units(const Report& report) {
    const Interval& every = report.request->every;
    const double epsilon = report.request->plan_epsilon;
    const double periods = covered_days(report) / length_of(every);
    if (report.unit.per_days != 0)
        return run([&] {
            const PrivacyUnit plan{Epsilon(epsilon)};
            return units_not_worth_more(periods, std::sqrt(IndependentError(plan).variance_at(1)));
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
        return units_not_worth_more(static_cast<double>(horizon),
                                    std::sqrt(errors.variance_at(middle, middle - 1)));
    });
}

void store(const Report& report, bool is_sum, std::int64_t bound) {
    const Oid types[] = {is_sum ? Oid{INT8OID} : Oid{INT4OID}, NUMERICOID, FLOAT8OID, INTERVALOID};
    const char* columns = psprintf("%s NOT NULL, epsilon pg_catalog.numeric NOT NULL, plan_epsilon "
                                   "pg_catalog.float8 NOT NULL, every pg_catalog.interval NOT NULL",
                                   is_sum ? "upper pg_catalog.int8" : "per_person pg_catalog.int4");
    const Oid table = create_report_table(report, columns, types, lengthof(types));
    Datum values[] = {is_sum ? Int64GetDatum(bound)
                             : Int32GetDatum(static_cast<std::int32_t>(bound)),
                      NumericGetDatum(report.epsilon), Float8GetDatum(report.request->plan_epsilon),
                      IntervalPGetDatum(&report.request->every)};
    bool nulls[] = {false, false, false, false};
    insert_report_row(table, values, nulls);
}

void suggest(const Report& report) {
    const bool is_sum = report.request->column != InvalidAttrNumber;
    const std::int64_t enough = enough_units(report);
    auto* units =
        static_cast<UnitsAbove*>(allocate_secret(CurrentMemoryContext, sizeof(UnitsAbove)));
    read_units(
        report, report.request->column,
        [](std::int64_t most, void* above) { static_cast<UnitsAbove*>(above)->add(most); }, units);
    const Release release = begin_release(report.privacy);
    const std::int64_t bound = run([&] {
        return choose_bound(units->up_to(is_sum ? kMostValue : kMostPerPerson), enough, release);
    });
    store(report, is_sum, bound);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_source_suggest) {
    using namespace dp_counter;
    using namespace dp_counter::pg;
    const double plan_epsilon = read_plan_epsilon(fcinfo->args[kPlanEpsilon]);
    check_not_null(fcinfo->args[kEvery], "every",
                   "It is the length of the counter's periods, for example '1 day'.");
    check_every(*PG_GETARG_INTERVAL_P(kEvery));
    check_not_null(fcinfo->args[kSince], "since",
                   "A bound is worth its noise if there are enough units for the number of periods "
                   "in the range.");
    ReportRequest request = begin_report(fcinfo, kCall);
    request.plan_epsilon = plan_epsilon;
    request.every = *PG_GETARG_INTERVAL_P(kEvery);
    if (!PG_ARGISNULL(kSum))
        request.column = measured_column(request.source, MeasureKind::sum, fcinfo->args[kSum]);
    ask_for_report(fcinfo, kCall, request);
    PG_RETURN_VOID();
}

DP_WORKER(dp_suggest_worker) {
    using namespace dp_counter::pg;
    serve(main_argument,
          [](const char* request, Size /*size*/) { serve_report(request, "suggestion", suggest); });
}
