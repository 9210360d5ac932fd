// Reads the arguments that say what a counter counts.
#pragma once

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/measure.hpp"

namespace dp_counter::pg {

/// The greatest absolute value of lower and upper.
inline constexpr std::int64_t kMostValue = std::int64_t{1} << 31;

/// Arguments of dp_counter_create, in the order of SQL.
struct MeasureArguments {
    Argument persons, active, sum, avg, share, lower, upper, histogram, bins;
};

/// Raises invalid_parameter_value for measures that exclude each other and for bounds out of range,
/// null_value_not_allowed where a sum or an average has no upper bound or a histogram no bins,
/// datatype_mismatch for a column of the wrong type, and undefined_column.
[[nodiscard]] Measure read_measure(Oid source, const MeasureArguments& arguments);

/// The days for which a person is active after an event. Raises invalid_parameter_value unless they
/// are whole days, 1 to 36525.
[[nodiscard]] std::int32_t read_active(const Argument& argument);

/// Raises invalid_parameter_value for too many groups of a histogram.
void check_number_of_bins(const Measure& measure, std::int64_t groups);

/// The column that a sum, an average, a share or a histogram is of. Raises datatype_mismatch and
/// undefined_column.
[[nodiscard]] AttrNumber measured_column(Oid source, MeasureKind kind, const Argument& argument);

/// A value of a column that can be measured: of an integer type, or a boolean as 0 or 1.
[[nodiscard]] std::int64_t measured_value(Oid type, Datum value);

} // namespace dp_counter::pg
