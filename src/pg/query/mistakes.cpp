// Typical mistakes of new users, declared in SQL so that their errors have a helpful hint.
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {
namespace {

[[noreturn]] void teach(int code, const char* message, const char* hint) {
    ereport(ERROR, (errcode(code), errmsg("%s", message), errhint("%s", hint)));
}

} // namespace

/// dp_running_count(count(*), epsilon).
DP_FUNCTION(dp_running_count_number) {
    (void)fcinfo;
    teach(ERRCODE_DATATYPE_MISMATCH, "dp_running_count counts bits, not numbers",
          "To count by period, write dp_running_sum(count(id), epsilon, sensitivity). sensitivity "
          "is the most that one protected unit can change, over all rows together: 1 if each unit "
          "is counted once.");
}

/// A text, or what PostgreSQL resolves to text: a bare NULL, a bare literal.
DP_FUNCTION(dp_running_count_text) {
    (void)fcinfo;
    teach(ERRCODE_DATATYPE_MISMATCH, "dp_running_count counts bits, not values of type text",
          "Write a condition: dp_running_count(diagnosis = 'flu', epsilon). A constant or NULL "
          "needs a type: NULL::boolean.");
}

DP_FUNCTION(dp_running_count_missing) {
    (void)fcinfo;
    teach(ERRCODE_UNDEFINED_FUNCTION, "dp_running_count needs a bit and epsilon",
          "Write dp_running_count(diagnosis = 'flu', 1.0) OVER (ORDER BY ...): a smaller epsilon "
          "means more privacy and more noise.");
}

DP_FUNCTION(dp_running_sum_missing) {
    (void)fcinfo;
    teach(ERRCODE_UNDEFINED_FUNCTION, "dp_running_sum needs epsilon and sensitivity",
          "Write dp_running_sum(addend, epsilon, sensitivity). sensitivity is the most that one "
          "protected unit can change, over all rows together: 1 if each unit is counted once.");
}

DP_FUNCTION(dp_laplace_missing) {
    (void)fcinfo;
    teach(
        ERRCODE_UNDEFINED_FUNCTION, "dp_laplace needs epsilon and sensitivity",
        "Write dp_laplace(value, epsilon, sensitivity). sensitivity is the most that one protected "
        "unit can change, over all rows together: 1 if each unit is counted once.");
}

/// Transition and final function: dp_count(*), too few or too many arguments, no boolean. With a
/// state: dp_sum (0), dp_median and its like (1).
DP_FUNCTION(dp_count_mistake) {
    constexpr int kState = 1;
    if (!PG_ARGISNULL(0) && PG_GETARG_INT64(0) == 0)
        teach(ERRCODE_UNDEFINED_FUNCTION, "there is no dp_sum: a private sum needs bounds",
              "Write dp_laplace(n, epsilon, sensitivity) above a subquery with sum(least(greatest("
              "value, 0), 100)) AS n. sensitivity is the most that one protected unit can change: "
              "100 times its rows. For a running sum, write dp_running_sum.");
    if (!PG_ARGISNULL(0))
        teach(ERRCODE_UNDEFINED_FUNCTION, "there is no private quantile of single values",
              "Release counts by the bins of a fixed grid: the median is in the first bin up to "
              "which half of their sum is.");
    if (PG_NARGS() != kState + 2)
        teach(ERRCODE_UNDEFINED_FUNCTION, "dp_count needs a bit and epsilon",
              "Write dp_count(diagnosis = 'flu', 1.0). To count all rows, write dp_laplace(n, "
              "epsilon, 1) above a subquery with count(*) AS n.");
    const Oid type = get_fn_expr_argtype(fcinfo->flinfo, kState);
    if (type == BOOLOID)
        teach(ERRCODE_DATATYPE_MISMATCH, "epsilon must be a number",
              "Write dp_count(diagnosis = 'flu', 1.0).");
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("dp_count counts bits of type boolean, not values of type %s",
                           format_type_be(type)),
                    errhint("Write a condition: dp_count(diagnosis = 'flu', epsilon). To release a "
                            "number, write dp_laplace(value, epsilon, sensitivity).")));
}

} // namespace dp_counter::pg
