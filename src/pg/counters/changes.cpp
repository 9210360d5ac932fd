// dp_counter_changes: the events of the last periods, computed from releases that the caller may
// read.
#include <cstdint>
#include <cstring>

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/result_rows.hpp"
#include "pg/tables/counter_privileges.hpp"

extern "C" {
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace dp_counter::pg {
namespace {

/// The columns of the counter's view: period (with a source), the group's (with groups), step,
/// released_at, and count or sum.
struct ViewShape {
    const char* group; ///< the column, quoted; NULL where it has none
    bool is_sum;
};

ViewShape shape_of(Oid counter) {
    Relation view = relation_open(counter, AccessShareLock);
    TupleDesc columns = RelationGetDescr(view);
    const auto is_named = [&](int column, const char* name) {
        return std::strcmp(NameStr(TupleDescAttr(columns, column)->attname), name) == 0;
    };
    int step = 0;
    while (step < 2 && !is_named(step, "step"))
        ++step;
    const ViewShape shape{
        step == 2 ? pstrdup(quote_identifier(NameStr(TupleDescAttr(columns, 1)->attname))) : "NULL",
        is_named(step + 2, "sum")};
    relation_close(view, NoLock);
    return shape;
}

/// The statement runs as the caller. The function sets the search path to pg_catalog, whatever the
/// caller's is. The difference is computed in decimals, since releases may be at a bigint's ends.
const char* statement(Oid counter, const char* extension) {
    const ViewShape shape = shape_of(counter);
    return psprintf(
        "SELECT c.since + (r.step - 1)::float8 * c.every, r.group_value, r.step, %s, NULL::float8, "
        "%s.dp_stddev(r.step, c.horizon, c.epsilon::float8, c.k, c.mechanism, c.sensitivity, "
        "r.before), "
        "lower(i.i)::float8, coalesce(upper(i.i) - 1, 9223372036854775807)::float8 "
        "FROM (SELECT step, group_value, greatest(step - $2, 0) AS before, "
        "greatest(least(total::numeric - coalesce(lag(total, $3) OVER groups, 0), "
        "9223372036854775807), -9223372036854775808)::int8 AS change "
        "FROM (SELECT step, (%s)::text AS group_value, %s AS total FROM %s) AS releases "
        "WINDOW groups AS (PARTITION BY group_value ORDER BY step)) AS r, "
        "%s.dp_counters AS c, LATERAL (SELECT %s.dp_interval(r.change, r.step, c.horizon, "
        "c.epsilon::float8, 0.95, c.k, c.mechanism, c.sensitivity, r.before, '[0,)')) AS i(i) "
        "WHERE c.counter = $1 ORDER BY r.step, r.group_value",
        shape.is_sum ? "NULL::int8, r.change" : "r.change, NULL::int8", extension, shape.group,
        shape.is_sum ? "sum" : "count", quoted_name(counter), extension, extension);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_changes) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    constexpr const char* kHint = "It is a number of periods: for a daily counter, 7 is a week.";
    check_not_null(fcinfo->args[1], "lag", kHint);
    const std::int64_t lag = PG_GETARG_INT64(1);
    if (lag < 1 || lag > PG_INT32_MAX)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("lag must be between 1 and %d, not %lld", PG_INT32_MAX,
                               static_cast<long long>(lag)),
                        errhint("%s", kHint)));
    check_counter_privilege(counter, ACL_SELECT);
    TupleDesc type = nullptr;
    Tuplestorestate* rows = open_rows(fcinfo, &type);

    SPI_connect();
    const char* extension =
        quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
    Oid types[] = {OIDOID, INT8OID, INT4OID};
    Datum values[] = {ObjectIdGetDatum(counter), Int64GetDatum(lag),
                      Int32GetDatum(static_cast<std::int32_t>(lag))};
    Portal portal = SPI_cursor_open_with_args(nullptr, statement(counter, extension), 3, types,
                                              values, nullptr, true, 0);
    for (;;) {
        SPI_cursor_fetch(portal, true, 1000);
        if (SPI_processed == 0)
            break;
        for (uint64 i = 0; i < SPI_processed; ++i)
            tuplestore_puttuple(rows, SPI_tuptable->vals[i]);
        SPI_freetuptable(SPI_tuptable);
    }
    SPI_cursor_close(portal);
    SPI_finish();
    PG_RETURN_VOID();
}
