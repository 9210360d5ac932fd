#include "pg/sources/plan_rows.hpp"

#include <optional>

#include "core/accuracy/quantile_interval.hpp"
#include "core/accuracy/release_interval.hpp"
#include "core/count/bins_law.hpp"

#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"
#include "pg/sources/guarantee.hpp"
#include "pg/sources/kept_events.hpp"
#include "pg/tables/counters_table.hpp"

extern "C" {
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/fmgrprotos.h"
#include "utils/tuplestore.h"
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
/// places in long blocks and of all where a change is across two. `first` is the steps before; of
/// a stock the release is asked about, from 0 on.
constexpr const char* kPlaces =
    "LATERAL (SELECT CASE WHEN c.mechanism IN ('box', 'anchored') THEN "
    "least(c.k - 1, coalesce(c.horizon, line.step + c.k) - line.step) ELSE 0 END AS last) AS "
    "block, "
    "LATERAL (SELECT generate_series(0, block.last, "
    "CASE c.mechanism WHEN 'anchored' THEN greatest(1, c.k / 256) ELSE 1 END) UNION "
    "SELECT generate_series(greatest(0, block.last - line.periods + 1), block.last)) "
    "AS looked_at (first), "
    "LATERAL (SELECT line.step + first AS step, CASE WHEN c.mechanism = 'anchored' AND "
    "line.since = 0 THEN 0 ELSE line.since + first END AS since) AS place";

const char* literal(const char* text) {
    return text != nullptr ? quote_literal_cstr(text) : "NULL";
}

/// Of a histogram: by how many events a median is off. `rest` has the other columns, and FROM.
const char* median_lines(const Planned& planned, const char* rest) {
    constexpr std::int64_t kPeriods[] = {1, 4, 12, 52};
    if (planned.bins == 0)
        return "";
    RankError errors[lengthof(kPeriods)];
    run([&] {
        BinsNoise noise{planned.unit.scale(1), 1};
        std::optional<ReleaseError> totals;
        if (planned.is_in_totals)
            noise.each =
                &totals.emplace(make_mechanism(BinsLaw(planned.unit, planned.bins).totals()));
        const std::int32_t widest = widest_bin(noise, planned.bins);
        for (std::size_t i = 0; i < lengthof(kPeriods); ++i) {
            noise.lag = kPeriods[i];
            errors[i] = median_error(noise, planned.bins, widest, kReleaseConfidence);
        }
    });
    StringInfoData text;
    initStringInfo(&text);
    for (std::size_t i = 0; i < lengthof(kPeriods); ++i)
        appendStringInfo(&text,
                         " UNION ALL SELECT '%s, rank of a median', %lld::int8, %.17g::float8, "
                         "%lld::int8, %s WHERE %lld <= coalesce(c.horizon, %lld)",
                         i == 0 ? "one period"
                                : psprintf("%lld periods", static_cast<long long>(kPeriods[i])),
                         static_cast<long long>(kPeriods[i]), errors[i].stddev,
                         static_cast<long long>(errors[i].half_width), rest,
                         static_cast<long long>(kPeriods[i]), static_cast<long long>(kPeriods[i]));
    return text.data;
}

/// It runs as the caller. The function sets the search path to pg_catalog. The extension's
/// functions get all their arguments, of the very types: another function in the same schema may
/// fit nearly.
const char* statement(const Planned& planned, const char* extension) {
    const char* lines = planned.is_active ? kStocks : planned.cumulative ? kTotals : kSums;
    const char* rest = psprintf("c.groups, c.sensitivity, c.epsilon, %s::numeric, c.per, %s::text, "
                                "%s::text FROM %s AS c",
                                planned.remaining != nullptr ? text_of(planned.remaining) : "NULL",
                                literal(planned.kept), literal(planned.guarantee), planned.counter);
    return psprintf(
        "SELECT line.shown || CASE WHEN c.measure IN ('avg', 'share') THEN ', above or below' "
        "WHEN c.measure = 'histogram' THEN ', of a bin' ELSE '' END, "
        "line.periods, widest.stddev, widest.half_width, %s, "
        "coalesce(c.horizon, %d) AS last, "
        "LATERAL (%s) AS line (shown, periods, step, since), "
        "LATERAL (SELECT max(%s.dp_stddev(place.step, c.horizon, c.epsilon::float8, c.k, "
        "c.mechanism, c.sensitivity, place.since)) AS stddev, "
        "max(upper(%s.dp_interval(0::int8, place.step, c.horizon, c.epsilon::float8, "
        "0.95::float8, c.k, c.mechanism, c.sensitivity, place.since, NULL::int8range))) - 1 "
        "AS half_width FROM %s) AS widest%s",
        rest, kFarStep, lines, extension, extension, kPlaces, median_lines(planned, rest));
}

/// The declaration's parameters, as the counter's row in dp_counters would have them.
const char* row_of(const SourceDeclaration& declaration, Numeric epsilon, const Argument& horizon,
                   const Argument& k, const Argument& mechanism) {
    const auto number = [](std::int64_t value, bool is_null) {
        return is_null ? "NULL" : psprintf("%lld", static_cast<long long>(value));
    };
    const char* name = mechanism.isnull ? nullptr : TextDatumGetCString(mechanism.value);
    const char* shown_k = number(DatumGetInt32(k.value), k.isnull);
    if (!declaration.cumulative) {
        const NoiseOfPeriods noise = declaration.noise();
        name = noise.name;
        shown_k = number(noise.k, noise.k == 0);
    }
    const std::int32_t days = declaration.unit.per_days;
    return psprintf("(SELECT %s::int8 AS horizon, %s::numeric AS epsilon, %s::int4 AS k, "
                    "%s::text AS mechanism, %lld::int8 AS sensitivity, %s::text AS measure, "
                    "%s::int4 AS groups, %s::interval AS per)",
                    number(DatumGetInt64(horizon.value), horizon.isnull), text_of(epsilon), shown_k,
                    literal(name), static_cast<long long>(declaration.sensitivity),
                    literal(name_of(declaration.row.measure.kind)),
                    number(declaration.row.groups, declaration.row.by == InvalidAttrNumber),
                    days != 0 ? psprintf("'%d days'", days) : "NULL");
}

/// Raises an error for times that the budget is not for, whoever asks.
Numeric remaining_after(const SourceDeclaration& declaration, Numeric epsilon) {
    if (declaration.continued || OidIsValid(declaration.replaced))
        return nullptr; // creating it cuts, or refunds, the other one's charge
    Numeric left = left_of_budget(declaration.budget, declaration.range);
    if (pg_class_aclcheck(declaration.budget, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
        return nullptr;
    return difference(left, epsilon);
}

} // namespace

void put_plan(FunctionCallInfo fcinfo, const Planned& planned) {
    InitMaterializedSRF(fcinfo, 0);
    const auto* rows = reinterpret_cast<const ReturnSetInfo*>(fcinfo->resultinfo);
    SPI_connect();
    const char* extension = quoted_schema_of_function(fcinfo->flinfo->fn_oid);
    if (SPI_execute(statement(planned, extension), true, 0) != SPI_OK_SELECT)
        elog(ERROR, "could not plan a counter");
    for (uint64 i = 0; i < SPI_processed; ++i)
        tuplestore_puttuple(rows->setResult, SPI_tuptable->vals[i]);
    SPI_finish();
}

void put_plan_of_declaration(FunctionCallInfo fcinfo, const SourceDeclaration& declaration,
                             Numeric epsilon, const Argument& horizon, const Argument& k,
                             const Argument& mechanism) {
    const PrivacyUnit unit = run(
        [&] { return PrivacyUnit(Epsilon(mechanism_epsilon(epsilon)), declaration.sensitivity); });
    const Promise promise{
        &declaration.row, &declaration.source,     &declaration.unit, declaration.cumulative,
        epsilon,          declaration.sensitivity, declaration.block};
    put_plan(fcinfo, {row_of(declaration, epsilon, horizon, k, mechanism), declaration.cumulative,
                      declaration.row.active != 0, remaining_after(declaration, epsilon),
                      kept_of(promise), guarantee_of(promise), unit,
                      static_cast<std::int32_t>(declaration.row.measure.bins.size()),
                      declaration.is_in_totals});
}

} // namespace dp_counter::pg
