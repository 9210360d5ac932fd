// dp_counter_plan: what a counter costs and how accurate it is, from what its caller may read.
#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/result_rows.hpp"
#include "pg/sources/guarantee.hpp"
#include "pg/sources/kept_events.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {
namespace {

/// Where a counter without a horizon is looked at, if it is cumulative.
constexpr int kFarStep = 1000;

/// The rows: sums of single periods, or totals and what is between two of them at the last step.
/// Lines that are longer than the counter are left out.
constexpr const char* kSums = "SELECT CASE n WHEN 1 THEN 'one period' ELSE n || ' periods' END, n, "
                              "n, 0 FROM unnest('{1,4,12,52}'::int8[]) AS n "
                              "WHERE n <= coalesce(c.horizon, n)";
constexpr const char* kTotals =
    "SELECT 'first total', 1, 1, 0 UNION ALL "
    "SELECT CASE WHEN c.horizon IS NULL THEN 'total of ' || last || ' periods' "
    "ELSE 'last total' END, last, last, 0 WHERE last > 1 UNION ALL "
    "SELECT 'last ' || CASE n WHEN 1 THEN '' ELSE n || ' ' END || 'of ' || last || ' periods', n, "
    "last, last - n FROM unnest('{1,4,12,52}'::int8[]) AS n WHERE n < last";

/// Of stocks: one, and changes from one to another, whose noise is that of two numbers where each
/// has noise of its own.
constexpr const char* kStocks =
    "SELECT 'one period', 1, 1, 0 UNION ALL SELECT 'change over ' || "
    "CASE n WHEN 1 THEN 'one period' ELSE n || ' periods' END, n, CASE c.mechanism WHEN 'anchored' "
    "THEN n + 1 ELSE 2 END, CASE c.mechanism WHEN 'anchored' THEN 1 ELSE 0 END "
    "FROM unnest('{1,4,12,52}'::int8[]) AS n";

/// Of box noise a sum is the less accurate the more of it is in one block, and not only then: the
/// widest of all places in a block that the counter has; also of anchored noise, of about 256
/// places in long blocks. `first` is the steps before; of a stock the release is asked about, from
/// 0 on.
constexpr const char* kPlaces =
    "generate_series(0, CASE WHEN c.mechanism IN ('box', 'anchored') THEN "
    "least(c.k - 1, coalesce(c.horizon, line.step + c.k) - line.step) ELSE 0 END, "
    "CASE c.mechanism WHEN 'anchored' THEN greatest(1, c.k / 256) ELSE 1 END) AS first, "
    "LATERAL (SELECT line.step + first AS step, CASE WHEN c.mechanism = 'anchored' AND "
    "line.since = 0 THEN 0 ELSE line.since + first END AS since) AS place";

/// It runs as the caller. The function sets the search path to pg_catalog. The extension's
/// functions get all their arguments, of the very types: another function in the same schema may
/// fit nearly.
const char* statement(const char* lines, const char* extension) {
    return psprintf(
        "SELECT line.shown || CASE WHEN c.measure IN ('avg', 'share') THEN ', above or below' "
        "WHEN c.measure = 'histogram' THEN ', of a bin' ELSE '' END, line.periods, "
        "widest.stddev, widest.half_width, "
        "cardinality(c.groups), c.sensitivity, c.epsilon, "
        "$2, c.per, $3, $4 "
        "FROM %s.dp_counters AS c, coalesce(c.horizon, %d) AS last, "
        "LATERAL (%s) AS line (shown, periods, step, since), "
        "LATERAL (SELECT max(%s.dp_stddev(place.step, c.horizon, c.epsilon::float8, c.k, "
        "c.mechanism, c.sensitivity, place.since)) AS stddev, "
        "max(upper(%s.dp_interval(0::int8, place.step, c.horizon, c.epsilon::float8, "
        "0.95::float8, c.k, c.mechanism, c.sensitivity, place.since, NULL::int8range))) - 1 "
        "AS half_width FROM %s) AS widest WHERE c.counter = $1",
        extension, kFarStep, lines, extension, extension, kPlaces);
}

/// What its bound keeps, and the guarantee, in words.
struct Words {
    const char* kept;      ///< null where there is no bound, or its source was dropped
    const char* guarantee; ///< null where its source was dropped
};

Words words_of(Oid counter, const CounterRow& row) {
    SourceCounterRow declared;
    if (!read_source_counter(counter, declared))
        return {nullptr, guarantee_of_events(row.epsilon)};
    SourceRow source;
    if (!read_source(declared.source, source))
        return {nullptr, nullptr};
    const BudgetUnit unit = unit_of_source(source);
    const Promise promise{&declared,   &source,         &unit,    row.cumulative,
                          row.epsilon, row.sensitivity, row.block};
    return {kept_of(promise), guarantee_of(promise)};
}

/// What is left of the budget that was charged, for the counter's own times; null for who may not
/// read it.
Numeric remaining_of(const CounterRow& row) {
    const Oid budget = budget_of_counter(row.number);
    const bool may_read =
        OidIsValid(budget) && pg_class_aclcheck(budget, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
    return may_read ? left_for_counter(row.number) : nullptr;
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_plan) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    check_counter_privilege(counter, ACL_SELECT);
    CounterRow row;
    if (!read_counter(counter, row))
        raise_dropped();
    TupleDesc type = nullptr;
    Tuplestorestate* rows = open_rows(fcinfo, &type);
    const Words words = words_of(counter, row);
    Numeric remaining = remaining_of(row);
    SPI_connect();
    const char* extension = quoted_schema_of_function(fcinfo->flinfo->fn_oid);
    Oid types[] = {OIDOID, NUMERICOID, TEXTOID, TEXTOID};
    Datum values[] = {ObjectIdGetDatum(counter), NumericGetDatum(remaining),
                      words.kept != nullptr ? CStringGetTextDatum(words.kept) : 0,
                      words.guarantee != nullptr ? CStringGetTextDatum(words.guarantee) : 0};
    const char nulls[] = {' ', remaining != nullptr ? ' ' : 'n', words.kept != nullptr ? ' ' : 'n',
                          words.guarantee != nullptr ? ' ' : 'n', 0};
    SourceCounterRow declared;
    const bool is_active = read_source_counter(counter, declared) && declared.active != 0;
    const char* lines = is_active ? kStocks : row.cumulative ? kTotals : kSums;
    if (SPI_execute_with_args(statement(lines, extension), lengthof(types), types, values, nulls,
                              true, 0) != SPI_OK_SELECT)
        elog(ERROR, "could not read counter %u", counter);
    for (uint64 i = 0; i < SPI_processed; ++i)
        tuplestore_puttuple(rows, SPI_tuptable->vals[i]);
    SPI_finish();
    PG_RETURN_VOID();
}
