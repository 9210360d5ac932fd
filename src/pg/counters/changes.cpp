// dp_counter_changes: the events of the last periods, computed from releases that the caller may
// read.
#include <cstdint>

#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/result_rows.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {
namespace {

/// The columns of the counter's view that are read (view_columns.hpp), by their places: the owner
/// may have given them other names. Quoted.
struct ViewShape {
    bool is_sum;
    bool is_average;
    const char* group; ///< NULL where it has none
    const char* step;
    const char* one;   ///< of an average the number above, else the count or the sum
    const char* other; ///< of an average the number below, else 0
};

ViewShape shape_of(Oid counter) {
    LockRelationOid(counter, AccessShareLock); // against other names
    SourceCounterRow declared;
    const bool has_source = read_source_counter(counter, declared);
    const auto name = [&](int column) {
        return quote_identifier(get_attname(counter, static_cast<AttrNumber>(column), false));
    };
    const bool has_group = has_source && declared.by != InvalidAttrNumber;
    const int step = 1 + (has_source ? 1 : 0) + (has_group ? 1 : 0); // after the period
    const int measure = step + 2;
    ViewShape shape{has_source && declared.measure.kind == MeasureKind::sum,
                    has_source && declared.measure.is_average(),
                    has_group ? name(step - 1) : "NULL",
                    name(step),
                    name(measure),
                    "0::int8"};
    if (shape.is_average) { // after the average, its interval and the count
        shape.one = name(measure + 4);
        shape.other = name(measure + 5);
    }
    return shape;
}

/// What a row of the releases and the lag - 1 before it have counted, and the steps between which
/// its noise was added. A group that was added later has fewer rows than steps; its first total
/// begins at 0. Decimals, since releases may be at a bigint's ends.
const char* change_of(const char* number, bool is_cumulative) {
    return psprintf(is_cumulative ? "%s::numeric - coalesce(lag(%s, $3) OVER stream, 0)"
                                  : "sum(%s) OVER (stream ROWS $2 - 1 PRECEDING)",
                    number, number);
}
constexpr const char* kStepsOfTotals =
    "step AS until, coalesce(lag(step, $3) OVER stream, 0) AS since";
constexpr const char* kStepsOfPeriods =
    "least(row_number() OVER stream, $2) AS until, 0::int8 AS since";

/// At the ends of a bigint it stays there.
const char* bounded(const char* number) {
    return psprintf("greatest(least(%s, 9223372036854775807), -9223372036854775808)::int8", number);
}

/// Of a sum: the errors of each number of periods are computed once, for all groups.
const char* sums(const ViewShape& shape, const char* extension) {
    return psprintf(
        ", errors AS MATERIALIZED (SELECT steps.*, "
        "%s.dp_stddev(until, horizon, epsilon::float8, k, mechanism, sensitivity, steps.since), "
        "upper(%s.dp_interval(0, until, horizon, epsilon::float8, 0.95, k, mechanism, sensitivity, "
        "steps.since)) - 1 AS width, "
        "CASE WHEN least_value < 0 THEN float8 '-Infinity' ELSE 0 END AS least "
        "FROM (SELECT DISTINCT until, since FROM bounded) AS steps, declared AS c) "
        "SELECT d.first + (r.step - 1)::float8 * d.every, r.group_value, r.step, %s, NULL::float8, "
        "e.dp_stddev, greatest(r.one::float8 - e.width, e.least), "
        "least(greatest(r.one::float8 + e.width, e.least), 9223372036854775807) "
        "FROM bounded AS r JOIN errors AS e USING (until, since), declared AS d "
        "ORDER BY r.step, r.group_value",
        extension, extension, shape.is_sum ? "NULL::int8, r.one" : "r.one, NULL::int8");
}

/// Of an average, whose interval depends on both numbers.
const char* averages(const char* extension) {
    return psprintf(
        " SELECT d.first + (r.step - 1)::float8 * d.every, r.group_value, r.step, "
        "%s, NULL::int8, %s.dp_avg(r.one, r.other, d.least_value, d.most_value), NULL::float8, "
        "lower(i.i)::float8, upper(i.i)::float8 FROM bounded AS r, declared AS d, "
        "LATERAL (SELECT %s.dp_avg_interval(r.one, r.other, r.until, d.horizon, d.epsilon::float8, "
        "d.least_value, d.most_value, 0.95, d.k, d.mechanism, d.sensitivity, r.since)) AS i(i) "
        "ORDER BY r.step, r.group_value",
        bounded("round((r.one::numeric + r.other) / (d.most_value - d.least_value))"), extension,
        extension);
}

/// The statement runs as the caller. The function sets the search path to pg_catalog, whatever the
/// caller's is.
const char* statement(Oid counter, bool is_cumulative, const char* extension) {
    const ViewShape shape = shape_of(counter);
    return psprintf(
        "WITH changes AS (SELECT step, group_value, %s AS one, %s AS other, %s FROM "
        "(SELECT %s AS step, (%s)::text COLLATE \"C\" AS group_value, %s AS one, %s AS other FROM "
        "%s) AS releases WINDOW stream AS (PARTITION BY group_value ORDER BY step)), "
        "bounded AS MATERIALIZED (SELECT step, group_value, until, since, %s AS one, "
        "%s AS other FROM changes), "
        "declared AS MATERIALIZED (SELECT *, since AS first, coalesce(lower, 0) AS least_value, "
        "coalesce(upper, 1) AS most_value FROM %s.dp_counters WHERE counter = $1)"
        "%s",
        change_of("one", is_cumulative), change_of("other", is_cumulative),
        is_cumulative ? kStepsOfTotals : kStepsOfPeriods, shape.step, shape.group, shape.one,
        shape.other, quoted_name(counter), bounded("one"), bounded("other"), extension,
        shape.is_average ? averages(extension) : sums(shape, extension));
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
