#include "pg/planner/windows.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/bisection.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/server/kept_in_context.hpp"
#include "pg/server/plain_value.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"
#include "pg/tables/counter_privileges.hpp"

extern "C" {
#include "executor/spi.h"
#include "storage/lmgr.h"
}

namespace dp_counter::pg {

namespace {

/// How many closed steps begin before this time.
std::int64_t steps_before(const Asked& asked, Timestamp time) {
    const auto is_before = [&](std::int64_t step) { return asked.beginning(step) < time; };
    return first_without(std::int64_t{1}, asked.row.steps, is_before) - 1;
}

/// The releases of a range of steps: step, one, other, group, bin. The columns of the counter's
/// view (view_columns.hpp) are found by their places, since the owner may have given them other
/// names.
SPIPlanPtr prepare_read(const Asked& asked) {
    LockRelationOid(asked.view, AccessShareLock); // against other names
    check_exists(asked.view);
    const auto name = [&](int column) {
        return quote_identifier(get_attname(asked.view, static_cast<AttrNumber>(column), false));
    };
    const int group = asked.declared ? 2 : 1; // after period
    const int bin = group + (asked.has_group() ? 1 : 0);
    const int step = bin + (asked.has_bins() ? 1 : 0);
    const int measure = step + 2;
    // An average is followed by its interval and the count, and then by its numbers.
    const char* one = name(asked.is_average() ? measure + 4 : measure);
    const char* other = asked.is_average() ? name(measure + 5) : "0::pg_catalog.int8";
    const char* group_text =
        asked.has_group()
            ? sql_of_text(name(group), get_atttype(asked.view, static_cast<AttrNumber>(group)))
            : "NULL::pg_catalog.text";
    Oid types[] = {INT8OID, INT8OID};
    SPIPlanPtr plan =
        SPI_prepare(psprintf("SELECT %s, %s, %s, %s, %s FROM %s WHERE %s "
                             "OPERATOR(pg_catalog.>=) $1 AND %s OPERATOR(pg_catalog.<=) $2",
                             name(step), one, other, group_text,
                             asked.has_bins() ? name(bin) : "0::pg_catalog.int8",
                             quoted_name(asked.view), name(step), name(step)),
                    lengthof(types), types);
    if (plan == nullptr)
        elog(ERROR, "could not read counter %u: %s", asked.view,
             SPI_result_code_string(SPI_result));
    return plan;
}

/// Where releases go.
struct Sink {
    MovingWindows& windows;
    void (*put)(std::int64_t step, void* context);
    void* context;
};

/// A row of the statement.
void add(MovingWindows& windows, bool has_bins, HeapTuple row, TupleDesc type, std::int64_t step) {
    bool is_null = false;
    const auto number = [&](int column) {
        return DatumGetInt64(SPI_getbinval(row, type, column, &is_null));
    };
    const std::int64_t one = number(2);
    const std::int64_t other = number(3);
    const std::int64_t bin = number(5);
    const Datum group = SPI_getbinval(row, type, 4, &is_null);
    text* name = is_null ? nullptr : DatumGetTextPP(group);
    run([&] {
        const std::string_view view =
            name == nullptr ? std::string_view()
                            : std::string_view(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
        if (!has_bins)
            return windows.add(step, view, one, other);
        static std::string full; // allocates once
        full.assign(reinterpret_cast<const char*>(&bin), sizeof(bin)).append(view);
        windows.add(step, full, one, other);
    });
    if (name != nullptr && PointerGetDatum(name) != group) // was detoasted
        pfree(name);
}

/// Reads the steps from .. to through the windows, some at once: a sort of all rows would take
/// longer than all else. It runs as the caller.
void read_steps(const Asked& asked, SPIPlanPtr plan, const Sink& sink, std::int64_t from,
                std::int64_t to) {
    constexpr std::int64_t kRows = 50000; // about so many at once
    std::int64_t many = 16;               // steps
    for (std::int64_t last = 0; from <= to; from = last + 1) {
        last = std::min(to, from + many - 1);
        Datum range[] = {Int64GetDatum(from), Int64GetDatum(last)};
        if (SPI_execute_plan(plan, range, nullptr, true, 0) != SPI_OK_SELECT)
            elog(ERROR, "could not read counter %u", asked.view);
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
                                       name_of_relation(asked.view))));
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
                add(sink.windows, asked.has_bins(), rows[next], table->tupdesc, step);
            if (step >= asked.first)
                sink.put(step, sink.context);
        }
        many = std::max<std::int64_t>(1, kRows * (last - from + 1) /
                                             static_cast<std::int64_t>(count + 1));
        pfree(places);
        pfree(rows);
        SPI_freetuptable(table);
    }
}

} // namespace

WindowName name_of(const Asked& asked, const std::string& name) {
    if (!asked.has_bins())
        return {name, 0, 0};
    WindowName result{std::string_view(name).substr(sizeof(result.bin)), 0, 0};
    std::memcpy(&result.bin, name.data(), sizeof(result.bin));
    const auto& bins = asked.declared->measure.bins; // the owner may show another one
    const auto at = std::lower_bound(bins.begin(), bins.end() - 1, result.bin);
    result.place = static_cast<std::int32_t>(at - bins.begin());
    return result;
}

Asked read_asked(const Argument& counter, const Argument& lag, const Argument& since,
                 const Argument& until) {
    const Oid view = read_relation(counter, "counter");
    constexpr const char* kHint = "It is a number of periods: for a daily counter, 7 is a week.";
    check_not_null(lag, "lag", kHint);
    check_number("lag", DatumGetInt64(lag.value), PG_INT32_MAX, kHint);
    check_counter_privilege(view, ACL_SELECT);
    Asked asked{require_counter(find_counter(view)), DatumGetInt64(lag.value), 0, 0};
    if (!asked.declared && !(since.isnull && until.isnull))
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("%s requires a counter with periods", since.isnull ? "until" : "since"),
             errdetail("Counter \"%s\" counts events that are recorded.", name_of_relation(view)),
             errhint("Choose its steps by a condition on the column step.")));
    const EntryRange range{since.isnull ? DT_NOBEGIN : DatumGetTimestamp(since.value),
                           until.isnull ? DT_NOEND : DatumGetTimestamp(until.value)};
    check_not_empty(range);
    // Before the first period a total is 0, and a stock unknown.
    asked.first = std::max(asked.lag + (asked.is_active() ? 1 : 0),
                           since.isnull ? 1 : steps_before(asked, range.since) + 1);
    asked.last = until.isnull ? asked.row.steps : steps_before(asked, range.until);
    return asked;
}

MovingWindows& windows_in(MemoryContext context, const Asked& asked) {
    auto& windows = room_in<MovingWindows>(context);
    run([&] { windows.emplace(asked.lag, asked.is_difference(), asked.last); });
    return *windows;
}

void read_windows(const Asked& asked, MovingWindows& windows,
                  void (*put)(std::int64_t step, void* context), void* context) {
    SPIPlanPtr plan = prepare_read(asked);
    const Sink sink{windows, put, context};
    // Of totals: those before the windows and, where there is none, the first ones in them; and
    // the last ones.
    std::int64_t from = asked.first - asked.lag + (asked.is_difference() ? 0 : 1);
    const std::int64_t bases = asked.last - asked.lag + 1;
    if (asked.is_difference() && bases < asked.first - 1) {
        read_steps(asked, plan, sink, from, bases);
        from = asked.first;
    }
    read_steps(asked, plan, sink, from, asked.last);
}

} // namespace dp_counter::pg
