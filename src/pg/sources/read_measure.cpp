#include "pg/sources/read_measure.hpp"

#include "core/count/bins_law.hpp"

#include "pg/persons/columns.hpp"
#include "pg/persons/groups.hpp"

extern "C" {
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

constexpr const char* kBinsHint =
    "They are the lower ends of the bins, rising: '{0,10,20}'. The first bin also has the values "
    "below it, and the last one those above.";
constexpr const char* kClamped = "Values are clamped to the range from lower (0 unless given) to "
                                 "upper: the noise covers the most that an event can add.";

bool is_integer(Oid type) {
    return type == INT2OID || type == INT4OID || type == INT8OID;
}

/// The kind that the arguments name.
MeasureKind kind_of(const MeasureArguments& arguments) {
    const struct {
        MeasureKind kind;
        bool is_named;
    } kinds[] = {
        {MeasureKind::persons, is_true(arguments.persons)},
        {MeasureKind::active, !arguments.active.isnull},
        {MeasureKind::sum, !arguments.sum.isnull},
        {MeasureKind::avg, !arguments.avg.isnull},
        {MeasureKind::share, !arguments.share.isnull},
        {MeasureKind::histogram, !arguments.histogram.isnull},
    };
    MeasureKind named = MeasureKind::count;
    for (const auto& [kind, is_named] : kinds) {
        if (is_named && named != MeasureKind::count)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("%s and %s exclude each other", name_of(named), name_of(kind)),
                            errhint("A counter has one measure. Declare another counter.")));
        if (is_named)
            named = kind;
    }
    return named;
}

std::int64_t read_bound(const Argument& argument, const char* parameter) {
    const std::int64_t bound = DatumGetInt64(argument.value);
    if (bound < -kMostValue || bound > kMostValue)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("%s must be between -%lld and %lld, not %lld", parameter,
                               static_cast<long long>(kMostValue),
                               static_cast<long long>(kMostValue), static_cast<long long>(bound)),
                        errhint("%s", kClamped)));
    return bound;
}

void check_range(const Measure& measure) {
    if (measure.lower >= measure.upper)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("upper must be greater than lower, %lld, not %lld",
                               static_cast<long long>(measure.lower),
                               static_cast<long long>(measure.upper)),
                        errhint("%s", kClamped)));
    if (measure.upper - measure.lower > kMostValue)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("upper less lower must be at most %lld, not %lld",
                               static_cast<long long>(kMostValue),
                               static_cast<long long>(measure.upper - measure.lower)),
                        errhint("%s", kClamped)));
}

std::span<const std::int64_t> read_bins(const Argument& argument) {
    if (argument.isnull)
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("histogram requires bins"),
                        errhint("%s", kBinsHint)));
    ArrayType* written = DatumGetArrayTypeP(argument.value);
    check_not_null({0, array_contains_nulls(written)}, "bins", kBinsHint);
    const std::span<const std::int64_t> bins = bins_in(argument.value);
    if (bins.size() < 2 || bins.size() > BinsLaw::kMostBins)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("bins must be 2 to %d, not %d", BinsLaw::kMostBins,
                               static_cast<int>(bins.size())),
                        errhint("%s", kBinsHint)));
    for (std::size_t i = 1; i < bins.size(); ++i)
        if (bins[i] <= bins[i - 1])
            ereport(ERROR,
                    (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                     errmsg("bins must rise, but %lld comes after %lld",
                            static_cast<long long>(bins[i]), static_cast<long long>(bins[i - 1])),
                     errhint("%s", kBinsHint)));
    return bins;
}

const char* why_not_clamped(MeasureKind kind) {
    switch (kind) {
    case MeasureKind::share:
        return "A share is of events for which the column is true or false.";
    case MeasureKind::histogram:
        return "The first and the last bin also have the values below and above them.";
    default:
        return "Without sum, each event counts as 1.";
    }
}

} // namespace

void check_number_of_bins(const Measure& measure, std::int64_t groups) {
    const auto bins = static_cast<std::int64_t>(measure.bins.size());
    if (groups * bins > kMostGroups)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("groups times bins must be at most %d, not %lld times %lld", kMostGroups,
                        static_cast<long long>(groups), static_cast<long long>(bins)),
                 errhint("Use fewer groups or wider bins, or several counters.")));
}

AttrNumber measured_column(Oid source, MeasureKind kind, const Argument& argument) {
    const AttrNumber column = read_column(source, argument, name_of(kind));
    const Oid type = column_type(source, column);
    if (kind == MeasureKind::share ? type != BOOLOID : !is_integer(type))
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("%s must be of type %s, not %s", name_of(kind),
                        kind == MeasureKind::share ? "boolean" : "smallint, integer or bigint",
                        format_type_be(type)),
                 kind == MeasureKind::share
                     ? errhint("Cast the column in the view.")
                     : errhint("Compute an integer in the view, such as cents or days.")));
    return column;
}

Measure read_measure(Oid source, const MeasureArguments& arguments) {
    const MeasureKind kind = kind_of(arguments);
    Measure measure{kind, InvalidAttrNumber, 0, 1};
    const bool is_clamped = kind == MeasureKind::sum || kind == MeasureKind::avg;
    if (!is_clamped && !(arguments.lower.isnull && arguments.upper.isnull))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("%s requires sum or avg", arguments.upper.isnull ? "lower" : "upper"),
                 errhint("%s", why_not_clamped(kind))));
    if (kind != MeasureKind::histogram && !arguments.bins.isnull)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("bins requires histogram"),
                        errhint("It is the integer column whose values the bins divide.")));
    if (kind == MeasureKind::histogram) {
        measure.column = measured_column(source, kind, arguments.histogram);
        measure.bins = read_bins(arguments.bins);
    }
    if (kind == MeasureKind::share)
        measure.column = measured_column(source, kind, arguments.share);
    if (!is_clamped)
        return measure;
    measure.column =
        measured_column(source, kind, kind == MeasureKind::sum ? arguments.sum : arguments.avg);
    if (arguments.upper.isnull)
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                        errmsg("%s requires upper", name_of(kind)), errhint("%s", kClamped)));
    if (!arguments.lower.isnull)
        measure.lower = read_bound(arguments.lower, "lower");
    measure.upper = read_bound(arguments.upper, "upper");
    check_range(measure);
    return measure;
}

std::int32_t read_active(const Argument& argument) {
    constexpr std::int32_t kMostDays = 36525; // a hundred years
    const Interval& active = *DatumGetIntervalP(argument.value);
    if (active.month != 0 || active.time != 0 || active.day < 1 || active.day > kMostDays)
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("active must be whole days, 1 to %d, not \"%s\"", kMostDays, text_of(active)),
             errhint("It is for how long a person is active after an event: write '28 days', "
                     "and '365 days' for a year.")));
    return active.day;
}

std::int64_t measured_value(Oid type, Datum value) {
    switch (type) {
    case BOOLOID:
        return DatumGetBool(value) ? 1 : 0;
    case INT2OID:
        return DatumGetInt16(value);
    case INT4OID:
        return DatumGetInt32(value);
    default:
        return DatumGetInt64(value);
    }
}

} // namespace dp_counter::pg
