#include "pg/server/decimal_epsilon.hpp"

#include "core/base/decimal.hpp"

#include "pg/server/wall.hpp"

extern "C" {
#include "utils/builtins.h"
}

namespace dp_counter::pg {

namespace {

constexpr int kMostPlaces = 100;       // one entry of a budget sets how many its sums show
constexpr const char* kMost = "1e100"; // a longer number is only slow

bool is_finite(Numeric number) {
    return !numeric_is_nan(number) && !numeric_is_inf(number);
}

bool is_above(Numeric number, const char* limit) {
    const Datum parsed = DirectFunctionCall3(numeric_in, CStringGetDatum(limit),
                                             ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
    return DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(number), parsed));
}

} // namespace

char* text_of(Numeric number) {
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
}

Numeric zero_epsilon() {
    return DatumGetNumeric(DirectFunctionCall1(int4_numeric, Int32GetDatum(0)));
}

Numeric read_decimal_epsilon(const Argument& argument) {
    check_not_null(argument, "epsilon");
    Numeric epsilon = DatumGetNumeric(argument.value);
    if (!is_finite(epsilon) || !is_above(epsilon, "0"))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("epsilon must be positive and finite, not %s", text_of(epsilon))));
    if (is_above(epsilon, kMost))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("epsilon must be at most %s", kMost)));
    const int places = DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(epsilon)));
    if (places > kMostPlaces)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("epsilon must have at most %d decimal places, not %d", kMostPlaces,
                               places)));
    return epsilon;
}

double mechanism_epsilon(Numeric epsilon) {
    if (!is_finite(epsilon) || !is_above(epsilon, "0"))
        return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(epsilon)));
    const char* text = text_of(epsilon);
    return run([&] { return largest_double_not_above(text); });
}

} // namespace dp_counter::pg
