#include "pg/server/decimal_epsilon.hpp"

#include "core/base/decimal.hpp"
#include "core/base/epsilon.hpp"

#include "pg/server/wall.hpp"

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace dp_counter::pg {

namespace {

constexpr int kMostPlaces = 100;       // one entry of a budget sets how many its sums show
constexpr const char* kMost = "1e100"; // a longer number is only slow

bool is_finite(Numeric number) {
    return !numeric_is_nan(number) && !numeric_is_inf(number);
}

bool is_above(Numeric number, const char* limit) {
    return is_less(decimal(limit), number);
}

Datum apply(PGFunction function, Numeric a, Numeric b) {
    return DirectFunctionCall2(function, NumericGetDatum(a), NumericGetDatum(b));
}

} // namespace

char* text_of(Numeric number) {
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
}

Numeric zero_epsilon() {
    return decimal("0");
}

Numeric decimal(const char* number) {
    return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(number),
                                               ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

Numeric sum(Numeric a, Numeric b) {
    return DatumGetNumeric(apply(numeric_add, a, b));
}

Numeric difference(Numeric a, Numeric b) {
    return DatumGetNumeric(apply(numeric_sub, a, b));
}

Numeric product(Numeric a, Numeric b) {
    return DatumGetNumeric(apply(numeric_mul, a, b));
}

Numeric times(std::int64_t n, Numeric a) {
    return product(DatumGetNumeric(DirectFunctionCall1(int8_numeric, Int64GetDatum(n))), a);
}

Numeric larger(Numeric a, Numeric b) {
    return is_less(a, b) ? b : a;
}

Numeric smaller(Numeric a, Numeric b) {
    return is_less(b, a) ? b : a;
}

bool is_less(Numeric a, Numeric b) {
    return DatumGetBool(apply(numeric_lt, a, b));
}

Numeric trimmed(Numeric number) {
    return DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(number)));
}

Numeric read_decimal_epsilon(const Argument& argument) {
    check_not_null(argument, "epsilon", Epsilon::kUsual);
    Numeric epsilon = DatumGetNumeric(argument.value);
    if (!is_finite(epsilon) || !is_above(epsilon, "0"))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("epsilon must be positive and finite, not %s", text_of(epsilon)),
                        errhint("%s", Epsilon::kUsual)));
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
