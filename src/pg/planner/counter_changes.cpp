// dp_counter_changes: what each group counted in the last periods, computed from releases that the
// caller may read.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>

#include "core/accuracy/release_interval.hpp"
#include "core/count/moving_windows.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/result_rows.hpp"
#include "pg/server/wall.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

/// What is asked for: windows of `lag` steps that end with the steps first .. last. Trivial.
struct Asked {
    Oid counter;
    CounterRow row;
    bool has_source;
    SourceCounterRow declared; ///< valid if it has one
    std::int64_t lag, first, last;

    [[nodiscard]] bool is_sum() const {
        return has_source && declared.measure.kind == MeasureKind::sum;
    }
    [[nodiscard]] bool is_average() const { return has_source && declared.measure.is_average(); }
    [[nodiscard]] bool has_group() const { return has_source && declared.by != InvalidAttrNumber; }
    /// When a step's period begins; step 1 .. row.steps.
    [[nodiscard]] Timestamp beginning(std::int64_t step) const {
        return face_of_boundary({TIMESTAMPOID, "", declared.since, declared.every, {}}, step - 1);
    }
};

/// How many closed steps begin before this time.
std::int64_t steps_before(const Asked& asked, Timestamp time) {
    std::int64_t before = 0;
    for (std::int64_t from = asked.row.steps; before < from;) {
        const std::int64_t middle = before + (from - before + 1) / 2;
        if (asked.beginning(middle) < time)
            before = middle;
        else
            from = middle - 1;
    }
    return before;
}

Asked read_asked(FunctionCallInfo fcinfo) {
    Asked asked{};
    asked.counter = read_relation(fcinfo->args[0], "counter");
    constexpr const char* kHint = "It is a number of periods: for a daily counter, 7 is a week.";
    check_not_null(fcinfo->args[1], "lag", kHint);
    asked.lag = PG_GETARG_INT64(1);
    check_number("lag", asked.lag, PG_INT32_MAX, kHint);
    const Argument since = fcinfo->args[2];
    const Argument until = fcinfo->args[3];
    check_counter_privilege(asked.counter, ACL_SELECT);
    if (!read_counter(asked.counter, asked.row))
        raise_dropped();
    asked.has_source = read_source_counter(asked.counter, asked.declared);
    if (!asked.has_source && !(since.isnull && until.isnull))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("%s requires a counter with periods", since.isnull ? "until" : "since"),
                 errdetail("Counter \"%s\" counts events that are recorded.",
                           name_of_relation(asked.counter)),
                 errhint("Choose its steps by a condition on the column step.")));
    const EntryRange range{since.isnull ? DT_NOBEGIN : DatumGetTimestamp(since.value),
                           until.isnull ? DT_NOEND : DatumGetTimestamp(until.value)};
    check_not_empty(range);
    asked.first = std::max(asked.lag, since.isnull ? 1 : steps_before(asked, range.since) + 1);
    asked.last = until.isnull ? asked.row.steps : steps_before(asked, range.until);
    return asked;
}

/// The releases of a range of steps: step, one, other, group. The columns of the counter's view
/// (view_columns.hpp) are found by their places, since the owner may have given them other names.
SPIPlanPtr prepare_read(const Asked& asked) {
    LockRelationOid(asked.counter, AccessShareLock); // against other names
    check_exists(asked.counter);
    const auto name = [&](int column) {
        return quote_identifier(get_attname(asked.counter, static_cast<AttrNumber>(column), false));
    };
    const int step = 1 + (asked.has_source ? 1 : 0) + (asked.has_group() ? 1 : 0); // after period
    const int measure = step + 2;
    // An average is followed by its interval and the count, and then by its numbers.
    const char* one = name(asked.is_average() ? measure + 4 : measure);
    const char* other = asked.is_average() ? name(measure + 5) : "0::pg_catalog.int8";
    const char* group = asked.has_group() ? name(step - 1) : "NULL";
    Oid types[] = {INT8OID, INT8OID};
    SPIPlanPtr plan = SPI_prepare(
        psprintf("SELECT %s, %s, %s, (%s)::pg_catalog.text FROM %s WHERE %s "
                 "OPERATOR(pg_catalog.>=) $1 AND %s OPERATOR(pg_catalog.<=) $2",
                 name(step), one, other, group, quoted_name(asked.counter), name(step), name(step)),
        lengthof(types), types);
    if (plan == nullptr)
        elog(ERROR, "could not read counter %u: %s", asked.counter,
             SPI_result_code_string(SPI_result));
    return plan;
}

AskedNoise noise_of(const CounterRow& row) {
    const Argument epsilon{DirectFunctionCall1(numeric_float8, NumericGetDatum(row.epsilon)),
                           false};
    const Argument sensitivity{Int64GetDatum(row.sensitivity), false};
    if (row.cumulative)
        return read_request({.epsilon = epsilon,
                             .sensitivity = sensitivity,
                             .horizon = {Int64GetDatum(row.horizon), row.horizon == kUnbounded},
                             .k = {Int32GetDatum(row.k), row.k == 0},
                             .mechanism = {PointerGetDatum(row.mechanism), false}});
    const PrivacyUnit unit = read_unit(epsilon, sensitivity);
    return run([&]() -> AskedNoise {
        if (row.block != 0)
            return BoxError({unit, row.block});
        return IndependentError(unit);
    });
}

/// Their noise, from public parameters. Trivial.
class Noise {
public:
    explicit Noise(const Asked& asked) : noise_(noise_of(asked.row)) {
        if (!asked.row.cumulative)
            lag_ = asked.lag;
        if (asked.row.block != 0)
            block_ = asked.row.block;
    }

    struct Error {
        std::int64_t step, since;
        double stddev;
        std::int64_t width; ///< of the interval, to each side
    };
    /// That of totals is computed once for the groups of a step, as they began in it or before.
    [[nodiscard]] const Error& error(std::int64_t step, std::int64_t since) {
        place(step, since);
        Error& known = known_[since == 0 ? 1 : 0];
        if (known.step != step || known.since != since)
            known = run([&]() -> Error {
                return {step, since, std::sqrt(public_forecast.variance_at(noise_, step, since)),
                        public_forecast.half_width(noise_, step, kReleaseConfidence, since)};
            });
        return known;
    }

    [[nodiscard]] ShareInterval share(std::int64_t above, std::int64_t below, std::int64_t step,
                                      std::int64_t since) const {
        place(step, since);
        return run([&] {
            return public_forecast.share_interval(noise_, above, below, step, kReleaseConfidence,
                                                  since);
        });
    }

private:
    /// The noise of single periods depends on their number alone, and on where a block begins.
    void place(std::int64_t& step, std::int64_t& since) const {
        if (lag_ == 0)
            return;
        since %= block_;
        step = since + lag_;
    }

    AskedNoise noise_;
    std::int64_t lag_ = 0;   ///< of single periods
    std::int64_t block_ = 1; ///< of box noise
    Error known_[2] = {};
};

/// The windows, as long as a memory context.
struct Kept {
    MemoryContextCallback callback;
    std::optional<MovingWindows> windows;
};

extern "C" void forget_windows(void* argument) {
    std::destroy_at(static_cast<Kept*>(argument));
}

MovingWindows& windows_in(MemoryContext context, const Asked& asked) {
    Kept* kept = new (MemoryContextAlloc(context, sizeof(Kept))) Kept{};
    kept->callback.func = forget_windows;
    kept->callback.arg = kept;
    MemoryContextRegisterResetCallback(context, &kept->callback); // before there are any
    run([&] { kept->windows.emplace(asked.lag, asked.row.cumulative, asked.last); });
    return *kept->windows;
}

/// The rows of the result. Trivial.
struct Result {
    enum Column { kPeriod, kGroup, kStep, kCount, kSum, kAvg, kStddev, kLow, kHigh, kColumns };

    Tuplestorestate* rows;
    TupleDesc type;
    const Asked& asked;
    MovingWindows& windows;
    Noise noise;
    Datum* groups; ///< the names of the first `named`
    std::int32_t named;

    void put(std::int64_t step);

private:
    Datum name_of(std::int32_t group);
    void put_number(const MovingWindows::Window& window, std::int64_t step, Datum* values,
                    bool* nulls);
    void put_average(const MovingWindows::Window& window, std::int64_t step, Datum* values,
                     bool* nulls) const;
};

Datum Result::name_of(std::int32_t group) {
    if (group >= named) {
        const Size bytes = static_cast<Size>(windows.groups()) * sizeof(Datum);
        groups = static_cast<Datum*>(groups != nullptr ? repalloc(groups, bytes) : palloc(bytes));
        for (; named < windows.groups(); ++named) {
            const std::string& name = windows.name(named);
            groups[named] = PointerGetDatum(
                cstring_to_text_with_len(name.data(), static_cast<int>(name.size())));
        }
    }
    return groups[group];
}

void Result::put_number(const MovingWindows::Window& window, std::int64_t step, Datum* values,
                        bool* nulls) {
    const std::int64_t number = saturated(window.numbers.one);
    const Noise::Error& error = noise.error(step, window.since);
    const bool is_signed = asked.is_sum() && asked.declared.measure.lower < 0;
    const double least = is_signed ? -HUGE_VAL : 0;
    constexpr auto kMost = static_cast<double>(std::numeric_limits<std::int64_t>::max());
    const auto end = [&](double width) {
        return Float8GetDatum(
            std::min(std::max(static_cast<double>(number) + width, least), kMost));
    };
    const auto width = static_cast<double>(error.width);
    values[asked.is_sum() ? kSum : kCount] = Int64GetDatum(number);
    nulls[asked.is_sum() ? kSum : kCount] = false;
    values[kStddev] = Float8GetDatum(error.stddev);
    values[kLow] = end(-width);
    values[kHigh] = end(width);
    nulls[kStddev] = false;
}

void Result::put_average(const MovingWindows::Window& window, std::int64_t step, Datum* values,
                         bool* nulls) const {
    const Measure& measure = asked.declared.measure;
    const std::int64_t above = saturated(window.numbers.one);
    const std::int64_t below = saturated(window.numbers.other);
    // Both together are the events times `largest`.
    const int128 total = int128{above} + below;
    const std::int64_t half = measure.largest() / 2 * (total < 0 ? -1 : 1);
    values[kCount] = Int64GetDatum(saturated((total + half) / measure.largest()));
    nulls[kCount] = false;
    const auto mean = average(above, below, measure.lower, measure.upper);
    values[kAvg] = Float8GetDatum(mean.value_or(0));
    nulls[kAvg] = !mean;
    const ShareInterval share = noise.share(above, below, step, window.since);
    values[kLow] = Float8GetDatum(value_between(measure.lower, measure.upper, share.low));
    values[kHigh] = Float8GetDatum(value_between(measure.lower, measure.upper, share.high));
}

/// Once all releases of the step are in the windows.
void Result::put(std::int64_t step) {
    Datum values[kColumns] = {};
    bool nulls[kColumns];
    values[kStep] = Int64GetDatum(step);
    if (asked.has_source)
        values[kPeriod] = TimestampGetDatum(asked.beginning(step));
    for (std::int32_t group = 0; group < windows.groups(); ++group) {
        CHECK_FOR_INTERRUPTS();
        const std::optional<MovingWindows::Window> window = windows.window(group);
        if (!window)
            continue;
        std::fill_n(nulls, static_cast<int>(kColumns), true);
        nulls[kStep] = nulls[kLow] = nulls[kHigh] = false;
        nulls[kPeriod] = !asked.has_source;
        nulls[kGroup] = !asked.has_group();
        if (asked.has_group())
            values[kGroup] = name_of(group);
        if (asked.is_average())
            put_average(*window, step, values, nulls);
        else
            put_number(*window, step, values, nulls);
        tuplestore_putvalues(rows, type, values, nulls);
    }
}

/// A row of the statement.
void add(MovingWindows& windows, HeapTuple row, TupleDesc type, std::int64_t step) {
    bool is_null = false;
    const auto number = [&](int column) {
        return DatumGetInt64(SPI_getbinval(row, type, column, &is_null));
    };
    const std::int64_t one = number(2);
    const std::int64_t other = number(3);
    const Datum group = SPI_getbinval(row, type, 4, &is_null);
    text* name = is_null ? nullptr : DatumGetTextPP(group);
    run([&] {
        const std::string_view view =
            name == nullptr ? std::string_view()
                            : std::string_view(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
        windows.add(step, view, one, other);
    });
    if (name != nullptr && PointerGetDatum(name) != group) // was detoasted
        pfree(name);
}

/// Reads the steps from .. to through the windows, some at once: a sort of all rows would take
/// longer than all else. It runs as the caller.
void read_steps(const Asked& asked, SPIPlanPtr plan, Result& result, std::int64_t from,
                std::int64_t to) {
    constexpr std::int64_t kRows = 50000; // about so many at once
    std::int64_t many = 16;               // steps
    for (std::int64_t last = 0; from <= to; from = last + 1) {
        last = std::min(to, from + many - 1);
        Datum range[] = {Int64GetDatum(from), Int64GetDatum(last)};
        if (SPI_execute_plan(plan, range, nullptr, true, 0) != SPI_OK_SELECT)
            elog(ERROR, "could not read counter %u", asked.counter);
        SPITupleTable* table = SPI_tuptable;
        const std::uint64_t count = SPI_processed;
        // In the order of their steps: places[s] is where those of step from + s begin.
        auto* places = static_cast<std::uint64_t*>(
            palloc0(static_cast<Size>(last - from + 2) * sizeof(std::uint64_t)));
        auto* rows = static_cast<HeapTuple*>(
            palloc_extended(static_cast<Size>(count) * sizeof(HeapTuple), MCXT_ALLOC_HUGE));
        const auto place_of = [&](HeapTuple row) -> std::uint64_t& {
            bool is_null = false;
            const std::int64_t step =
                DatumGetInt64(SPI_getbinval(row, table->tupdesc, 1, &is_null));
            // The owner can replace the view by one whose function changes its answers.
            if (is_null || step < from || step > last)
                ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                                errmsg("view \"%s\" does not show the steps that it was asked for",
                                       name_of_relation(asked.counter))));
            return places[step - from];
        };
        for (std::uint64_t i = 0; i < count; ++i)
            ++*(&place_of(table->vals[i]) + 1);
        for (std::int64_t s = 0; s <= last - from; ++s)
            places[s + 1] += places[s];
        for (std::uint64_t i = 0; i < count; ++i)
            rows[place_of(table->vals[i])++] = table->vals[i];
        std::uint64_t next = 0;
        for (std::int64_t step = from; step <= last; ++step) {
            for (; next < places[step - from]; ++next)
                add(result.windows, rows[next], table->tupdesc, step);
            if (step >= asked.first)
                result.put(step);
        }
        many = std::max<std::int64_t>(1, kRows * (last - from + 1) /
                                             static_cast<std::int64_t>(count + 1));
        pfree(places);
        pfree(rows);
        SPI_freetuptable(table);
    }
}

void put_changes(const Asked& asked, Tuplestorestate* rows, TupleDesc type) {
    MovingWindows& windows = windows_in(CurrentMemoryContext, asked);
    Result result{rows, type, asked, windows, Noise(asked), nullptr, 0};
    SPIPlanPtr plan = prepare_read(asked);
    // Of totals: those before the windows and, where there is none, the first ones in them; and
    // the last ones.
    std::int64_t from = asked.first - asked.lag + (asked.row.cumulative ? 0 : 1);
    const std::int64_t bases = asked.last - asked.lag + 1;
    if (asked.row.cumulative && bases < asked.first - 1) {
        read_steps(asked, plan, result, from, bases);
        from = asked.first;
    }
    read_steps(asked, plan, result, from, asked.last);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_changes) {
    using namespace dp_counter::pg;
    const Asked asked = read_asked(fcinfo);
    TupleDesc type = nullptr;
    Tuplestorestate* rows = open_rows(fcinfo, &type);
    if (asked.first <= asked.last) {
        SPI_connect();
        put_changes(asked, rows, type);
        SPI_finish();
    }
    PG_RETURN_VOID();
}
