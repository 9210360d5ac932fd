#include "pg/sources/read_measure.hpp"

#include "pg/persons/columns.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
}

namespace dp_counter::pg {

namespace {

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
        {MeasureKind::persons, !arguments.persons.isnull && DatumGetBool(arguments.persons.value)},
        {MeasureKind::sum, !arguments.sum.isnull},
        {MeasureKind::avg, !arguments.avg.isnull},
        {MeasureKind::share, !arguments.share.isnull},
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

} // namespace

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
                 errhint(kind == MeasureKind::share
                             ? "A share is of events for which the column is true or false."
                             : "Without sum, each event counts as 1.")));
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
