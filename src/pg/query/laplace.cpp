// dp_laplace: the Laplace mechanism on one exact number.
//
// A scalar function above a GROUP BY: the exact number below it is an ordinary aggregate, computed
// in parallel as any.

#include "pg/query/streams.hpp"
#include "pg/query/volatility.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

/// Not strict: NULL for a NULL value would reveal that a group is empty.
DP_FUNCTION(dp_laplace) {
    using namespace dp_counter::pg;
    check_volatile_once(fcinfo->flinfo);
    const dp_counter::PrivacyUnit unit = read_unit(fcinfo->args[1], fcinfo->args[2]);
    PG_RETURN_INT64(release_value(unit, addend_from_bigint(fcinfo->args[0])));
}
