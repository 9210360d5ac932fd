// The planner's SQL functions: the errors of releases, from public values alone.
//
// Nothing here reads data, so nothing costs privacy. The core's Forecast computes the answers and
// caches them, since the rows of one query ask for the same plan.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/accuracy/forecast.hpp"
#include "core/count/epochs.hpp"
#include "core/literature/comparison.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/wall.hpp"

extern "C" {
#include "funcapi.h"
#include "utils/array.h"
#include "utils/rangetypes.h"
#include "utils/tuplestore.h"
}

namespace dp_counter::pg {
namespace {

double read_double(FunctionCallInfo fcinfo, int index, const char* name) {
    check_not_null(fcinfo->args[index], name);
    return PG_GETARG_FLOAT8(index);
}

/// Horizon (NULL: kUnbounded) and epsilon at `first`, k, mechanism and sensitivity at `optional`.
RequestArguments request_arguments(FunctionCallInfo fcinfo, int first, int optional) {
    return {.epsilon = fcinfo->args[first + 1],
            .sensitivity = fcinfo->args[optional + 2],
            .horizon = fcinfo->args[first],
            .k = fcinfo->args[optional],
            .mechanism = fcinfo->args[optional + 1]};
}

/// The name, if it is that of noise of single numbers, which is no mechanism of a running count.
const char* name_of_single(const Argument& mechanism) {
    if (mechanism.isnull)
        return nullptr;
    const struct varlena* text = PG_DETOAST_DATUM_PACKED(mechanism.value);
    const std::string_view name(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));
    for (const char* single : {kIndependentName, kBoxName, kAnchoredName, kBinsName})
        if (name == single)
            return single;
    return nullptr;
}

/// Of noise in blocks, which k says how long, or of bins, which it says how many.
AskedNoise read_blocks(const RequestArguments& arguments, const char* name) {
    check_not_null(arguments.k, "k",
                   name == kBinsName
                       ? "It is the number of bins of a histogram."
                       : psprintf("It is the number of periods of a block of %s noise.", name));
    const PrivacyUnit unit = read_unit(arguments.epsilon, arguments.sensitivity);
    const std::int32_t size = DatumGetInt32(arguments.k.value);
    return run([&]() -> AskedNoise {
        if (name == kBoxName)
            return BoxError({unit, size});
        if (name == kBinsName)
            return AskedBin{{unit, size}};
        return AnchoredLaw(unit, size);
    });
}

/// The noise that a function is asked about.
AskedNoise read_noise(const RequestArguments& arguments) {
    const char* single = name_of_single(arguments.mechanism);
    if (single == nullptr)
        return read_request(arguments);
    if (single != kIndependentName)
        return read_blocks(arguments, single);
    if (!arguments.k.isnull)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("k must be null for mechanism \"%s\", not %d", kIndependentName,
                               DatumGetInt32(arguments.k.value)),
                        errhint("It adds independent noise to each number: there are no nodes.")));
    const PrivacyUnit unit = read_unit(arguments.epsilon, arguments.sensitivity);
    return run([&] { return IndependentError(unit); });
}

Datum integer_array(const std::int32_t* values, std::size_t count) {
    auto* elements = static_cast<Datum*>(palloc(count * sizeof(Datum)));
    for (std::size_t i = 0; i < count; ++i)
        elements[i] = Int32GetDatum(values[i]);
    return PointerGetDatum(construct_array(elements, static_cast<int>(count), INT4OID,
                                           sizeof(int32), true, TYPALIGN_INT));
}

/// A row of dp_plan, in the cache.
struct PlanRow {
    const MechanismSpec* spec;
    const ForecastReport* report;
};

PlanRow plan_row(const Request& request, int epoch) {
    return run([&] {
        return PlanRow{&public_forecast.errors(request).epoch(epoch).spec(),
                       &public_forecast.report(request, epoch)};
    });
}

/// The rows of a comparison, in plain memory.
struct Comparison {
    static constexpr int kMost = 16;

    int count;
    double least; ///< MSE
    Compared row[kMost];
};

/// Integers first .. last. A number out of bigint's range means that the side has no bound.
struct Bounds {
    int128 first;
    int128 last;

    /// Moves both ends into `limits`. If the truth is in `limits`, the result contains it wherever
    /// this does.
    [[nodiscard]] Bounds within(const Bounds& limits) const {
        return {std::clamp(first, limits.first, limits.last),
                std::clamp(last, limits.first, limits.last)};
    }
};

bool is_bigint(int128 number) {
    return saturated(number) == number;
}

Bounds from_range(FunctionCallInfo fcinfo, Datum datum) {
    constexpr int128 kBeyond = int128{1} << 64;
    RangeBound lower;
    RangeBound upper;
    bool is_empty = false;
    range_deserialize(range_get_typcache(fcinfo, INT8RANGEOID), DatumGetRangeTypeP(datum), &lower,
                      &upper, &is_empty);
    if (is_empty)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("within must not be an empty range"),
                        errhint("It is a range that is certain to contain the truth.")));
    return {lower.infinite ? -kBeyond : DatumGetInt64(lower.val),
            upper.infinite ? kBeyond : int128{DatumGetInt64(upper.val)} - 1};
}

Datum make_range(FunctionCallInfo fcinfo, Oid type_id, RangeBound lower, RangeBound upper) {
    TypeCacheEntry* type = range_get_typcache(fcinfo, type_id);
#if PG_VERSION_NUM >= 160000
    return RangeTypePGetDatum(range_serialize(type, &lower, &upper, false, nullptr));
#else
    return RangeTypePGetDatum(range_serialize(type, &lower, &upper, false));
#endif
}

Datum to_range(FunctionCallInfo fcinfo, const Bounds& bounds) {
    // Canonical: [first, last + 1); no bound is exclusive.
    const bool from = is_bigint(bounds.first);
    const bool to = is_bigint(bounds.last + 1);
    return make_range(fcinfo, INT8RANGEOID,
                      {from ? Int64GetDatum(bounds.first) : 0, !from, from, true},
                      {to ? Int64GetDatum(bounds.last + 1) : 0, !to, false, false});
}

/// What an average is between: arguments `first` and the one after it.
struct ValueRange {
    ValueRange(FunctionCallInfo fcinfo, int first) {
        check_not_null(fcinfo->args[first], "lower");
        check_not_null(fcinfo->args[first + 1], "upper");
        lower = PG_GETARG_INT64(first);
        upper = PG_GETARG_INT64(first + 1);
        if (upper <= lower)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("lower must be below upper, which is %lld, not %lld",
                                   static_cast<long long>(upper), static_cast<long long>(lower)),
                            errhint("Each value is at least lower and at most upper.")));
        if (!is_bigint(int128{upper} - lower))
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("upper - lower must be at most %lld, not from %lld to %lld",
                                   static_cast<long long>(PG_INT64_MAX),
                                   static_cast<long long>(lower), static_cast<long long>(upper)),
                            errhint("It is what one row adds to the two sums together.")));
    }
    [[nodiscard]] std::int64_t width() const { return upper - lower; }

    std::int64_t lower;
    std::int64_t upper;
};

/// How far the first digit of a number is behind the point.
int place_of_first(double number) {
    return number > 0 ? -static_cast<int>(std::floor(std::log10(number))) : 0;
}

/// `part` of the range, rounded outwards to a thousandth of its width or a little less, and to at
/// most 14 digits above `lower`. In numeric: next to a large `lower` a double has no room for it.
Datum to_numeric_range(FunctionCallInfo fcinfo, const ValueRange& values, ShareInterval part) {
    const auto width = static_cast<double>(values.width());
    const double low = part.low * width;
    const double high = part.high * width;
    const int most = place_of_first(width) + 14;
    const int places = std::min(
        {high > low ? place_of_first(high - low) + 3 : most, place_of_first(high) + 13, most});
    const double unit = std::pow(10, std::abs(places));
    const auto scaled = [&](double number) { return places < 0 ? number / unit : number * unit; };
    const double off = scaled(width) * 0x1p-52; // which low and high are, as doubles
    const auto value = [&](double units) {
        Numeric above = decimal(psprintf("%.0fE%d", units, -places));
        return NumericGetDatum(trimmed(
            smaller(sum(int64_to_numeric(values.lower), above), int64_to_numeric(values.upper))));
    };
    return make_range(fcinfo, NUMRANGEOID,
                      {value(std::floor(scaled(low) + off)), false, true, true},
                      {value(std::ceil(scaled(high) - off)), false, true, false});
}

} // namespace

/// A row for a horizon; without one a row for every epoch.
DP_FUNCTION(dp_plan) {
    if (const char* single = name_of_single(fcinfo->args[3]))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("mechanism \"%s\" has nothing to plan", single),
                        errhint("dp_stddev and dp_interval show the error of a sum of numbers that "
                                "are each released once, dp_counter_plan that of a counter.")));
    const Request request = read_request(request_arguments(fcinfo, 0, 2));
    InitMaterializedSRF(fcinfo, 0);
    const auto* rows = reinterpret_cast<const ReturnSetInfo*>(fcinfo->resultinfo);
    for (int epoch = 0; epoch < (request.horizon == kUnbounded ? kEpochs : 1); ++epoch) {
        CHECK_FOR_INTERRUPTS();
        const auto [spec, report] = plan_row(request, epoch);
        const std::int64_t steps_before = epoch_begin(epoch);
        Datum values[] = {CStringGetTextDatum(mechanism_name(spec->mechanism)),
                          Int32GetDatum(spec->height),
                          integer_array(report->radices.data(), report->radices.size()),
                          Float8GetDatum(report->scale),
                          Float8GetDatum(report->mse),
                          Float8GetDatum(report->rmse),
                          Float8GetDatum(report->max_stddev),
                          Int64GetDatum(static_cast<std::int64_t>(report->state_bytes)),
                          Int64GetDatum(steps_before + 1),
                          Int64GetDatum(steps_before + spec->horizon)};
        bool nulls[lengthof(values)] = {};
        tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
    }
    return static_cast<Datum>(0);
}

DP_FUNCTION(dp_compare) {
    check_not_null(fcinfo->args[0], "horizon",
                   "The mechanisms of the literature need a horizon. For a count without one, "
                   "dp_plan shows the errors.");
    const Request request = read_request(
        {.epsilon = fcinfo->args[1], .sensitivity = fcinfo->args[3], .horizon = fcinfo->args[0]});
    const bool approximate = !PG_ARGISNULL(2);
    const double delta = approximate ? PG_GETARG_FLOAT8(2) : 0;
    check_not_null(fcinfo->args[4], "contributions",
                   "It is the number of steps that one protected unit can change.");
    const std::int64_t contributions = PG_GETARG_INT64(4);

    const Comparison comparison = run([&] {
        Comparison result;
        std::optional<Delta> checked;
        if (approximate)
            checked.emplace(delta);
        const auto rows = compare(request.horizon, request.unit, checked, contributions);
        result.count = static_cast<int>(std::min<std::size_t>(rows.size(), Comparison::kMost));
        result.least = rows.front().mse;
        std::copy_n(rows.begin(), result.count, result.row);
        return result;
    });

    InitMaterializedSRF(fcinfo, 0);
    const auto* rows = reinterpret_cast<const ReturnSetInfo*>(fcinfo->resultinfo);
    for (int i = 0; i < comparison.count; ++i) {
        const Compared& row = comparison.row[i];
        Datum values[] = {
            CStringGetTextDatum(row.mechanism),
            Int32GetDatum(row.radix.value_or(0)),
            CStringGetTextDatum(row.guarantee == Guarantee::approximate ? "approximate" : "pure"),
            Float8GetDatum(row.mse),
            Float8GetDatum(std::sqrt(row.mse)),
            Float8GetDatum(std::sqrt(row.max_variance.value_or(0))),
            // Errors can be 0 where the noise is negligible; equal errors have ratio 1.
            Float8GetDatum(row.mse == comparison.least ? 1 : row.mse / comparison.least),
        };
        bool nulls[lengthof(values)] = {false, !row.radix.has_value(),       false, false,
                                        false, !row.max_variance.has_value()};
        tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
    }
    return static_cast<Datum>(0);
}

DP_FUNCTION(dp_stddev) {
    const auto noise = read_noise(request_arguments(fcinfo, 1, 3));
    if (PG_ARGISNULL(0) || PG_ARGISNULL(6))
        PG_RETURN_NULL();
    const std::int64_t t = PG_GETARG_INT64(0);
    const std::int64_t since = PG_GETARG_INT64(6);
    PG_RETURN_FLOAT8(std::sqrt(run([&] { return public_forecast.variance_at(noise, t, since); })));
}

DP_FUNCTION(dp_interval) {
    const auto noise = read_noise(request_arguments(fcinfo, 2, 5));
    const double confidence = read_double(fcinfo, 4, "confidence");
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(8))
        PG_RETURN_NULL();
    const std::int64_t t = PG_GETARG_INT64(1);
    const std::int64_t since = PG_GETARG_INT64(8);
    const std::int64_t width =
        run([&] { return public_forecast.half_width(noise, t, confidence, since); });
    const auto released = static_cast<int128>(PG_GETARG_INT64(0));
    Bounds bounds{released - width, released + width};
    if (!PG_ARGISNULL(9))
        bounds = bounds.within(from_range(fcinfo, PG_GETARG_DATUM(9)));
    return to_range(fcinfo, bounds);
}

DP_FUNCTION(dp_avg) {
    const ValueRange values(fcinfo, 2);
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        PG_RETURN_NULL();
    const std::optional<double> result =
        average(PG_GETARG_INT64(0), PG_GETARG_INT64(1), values.lower, values.upper);
    if (!result)
        PG_RETURN_NULL();
    PG_RETURN_FLOAT8(*result);
}

DP_FUNCTION(dp_avg_interval) {
    const ValueRange values(fcinfo, 5);
    Argument sensitivity = fcinfo->args[10];
    if (sensitivity.isnull)
        sensitivity = {Int64GetDatum(values.width()), false};
    const AskedNoise noise = read_noise({.epsilon = fcinfo->args[4],
                                         .sensitivity = sensitivity,
                                         .horizon = fcinfo->args[3],
                                         .k = fcinfo->args[8],
                                         .mechanism = fcinfo->args[9]});
    if (DatumGetInt64(sensitivity.value) < values.width())
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("sensitivity must be at least upper - lower, which is %lld, not %lld",
                        static_cast<long long>(values.width()),
                        static_cast<long long>(DatumGetInt64(sensitivity.value))),
                 errhint("One row adds upper - lower to the two sums together, whatever its value. "
                         "The calls that release them take the same sensitivity: upper - lower, "
                         "times the rows of one protected unit.")));
    const double confidence = read_double(fcinfo, 7, "confidence");
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(11))
        PG_RETURN_NULL();
    const ShareInterval share = run([&] {
        return public_forecast.share_interval(noise, PG_GETARG_INT64(0), PG_GETARG_INT64(1),
                                              PG_GETARG_INT64(2), confidence, PG_GETARG_INT64(11));
    });
    return to_numeric_range(fcinfo, values, share);
}

} // namespace dp_counter::pg
