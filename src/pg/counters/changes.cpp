// dp_counter_changes: the events of the last periods, computed from releases that the caller may
// read. The error of each number of periods is computed once, for all groups.
#include <cstdint>
#include <cstring>

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/result_rows.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"

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

/// What a row of the releases and the lag - 1 before it have counted, and the steps between which
/// its noise was added. A group that was added later has fewer rows than steps; its first total
/// begins at 0.
constexpr const char* kChangesOfTotals =
    "total::numeric - coalesce(lag(total, $3) OVER stream, 0) AS change, step AS until, "
    "coalesce(lag(step, $3) OVER stream, 0) AS since";
constexpr const char* kSumsOfPeriods =
    "sum(total) OVER (stream ROWS $2 - 1 PRECEDING) AS change, "
    "least(row_number() OVER stream, $2) AS until, 0::int8 AS since";

/// The statement runs as the caller. The function sets the search path to pg_catalog, whatever the
/// caller's is. Decimals, since releases may be at a bigint's ends.
const char* statement(Oid counter, bool is_cumulative, const char* extension) {
    const ViewShape shape = shape_of(counter);
    return psprintf(
        "WITH changes AS MATERIALIZED (SELECT step, group_value, %s FROM "
        "(SELECT step, (%s)::text COLLATE \"C\" AS group_value, %s AS total FROM %s) AS releases "
        "WINDOW stream AS (PARTITION BY group_value ORDER BY step)), "
        "errors AS MATERIALIZED (SELECT steps.*, c.since AS first, c.every, "
        "%s.dp_stddev(until, horizon, epsilon::float8, k, mechanism, sensitivity, steps.since), "
        "upper(%s.dp_interval(0, until, horizon, epsilon::float8, 0.95, k, mechanism, sensitivity, "
        "steps.since)) - 1 AS width "
        "FROM (SELECT DISTINCT until, since FROM changes) AS steps, %s.dp_counters AS c "
        "WHERE c.counter = $1) "
        "SELECT e.first + (r.step - 1)::float8 * e.every, r.group_value, r.step, %s, NULL::float8, "
        "e.dp_stddev, greatest(r.bounded::float8 - e.width, 0), "
        "least(greatest(r.bounded::float8 + e.width, 0), 9223372036854775807) "
        "FROM (SELECT *, greatest(least(change, 9223372036854775807), -9223372036854775808)::int8 "
        "AS bounded FROM changes) AS r JOIN errors AS e USING (until, since) "
        "ORDER BY r.step, r.group_value",
        is_cumulative ? kChangesOfTotals : kSumsOfPeriods, shape.group,
        shape.is_sum ? "sum" : "count", quoted_name(counter), extension, extension, extension,
        shape.is_sum ? "NULL::int8, r.bounded" : "r.bounded, NULL::int8");
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
    CounterRow row;
    if (!read_counter(counter, row))
        raise_dropped();
    TupleDesc type = nullptr;
    Tuplestorestate* rows = open_rows(fcinfo, &type);

    SPI_connect();
    const char* extension =
        quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
    Oid types[] = {OIDOID, INT8OID, INT4OID};
    Datum values[] = {ObjectIdGetDatum(counter), Int64GetDatum(lag),
                      Int32GetDatum(static_cast<std::int32_t>(lag))};
    Portal portal = SPI_cursor_open_with_args(
        nullptr, statement(counter, row.cumulative, extension), 3, types, values, nullptr, true, 0);
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
