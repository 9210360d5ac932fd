#include "pg/sources/guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/kept_events.hpp"

extern "C" {
#include "catalog/pg_class.h"
#include "commands/comment.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
}

namespace dp_counter::pg {

namespace {

Numeric power_of_ten(int exponent) {
    return decimal(psprintf("1e%d", exponent));
}

/// epsilon * n / by, rounded up to two digits where it is a fraction.
const char* cost(Numeric epsilon, std::int64_t n, std::int64_t by = 1) {
    if (n % by == 0)
        return text_of(times(n / by, epsilon));
    const Datum exact = DirectFunctionCall2(numeric_div, NumericGetDatum(times(n, epsilon)),
                                            DirectFunctionCall1(int8_numeric, Int64GetDatum(by)));
    const double about = DatumGetFloat8(DirectFunctionCall1(numeric_float8, exact));
    const int places = std::max(0, 1 - static_cast<int>(std::floor(std::log10(about))));
    const Datum rounded = DirectFunctionCall1(
        numeric_ceil, NumericGetDatum(product(DatumGetNumeric(exact), power_of_ten(places))));
    return text_of(product(DatumGetNumeric(rounded), power_of_ten(-places)));
}

/// The most that a change of one unit's rows costs.
struct Costs {
    const char* row;   ///< one row of the view more or less
    const char* moved; ///< one to another window
    const char* other; ///< any other change of the unit's rows
    const char* days;  ///< all rows of any one window's length
    std::int64_t next; ///< all rows of any n windows' length: (n + next) times `epsilon`
    Numeric epsilon;
};

/// As times / by epsilon: of one row, of any other change, and of days.
Costs costs_of(Numeric epsilon, std::int64_t row, std::int64_t other, std::int64_t days,
               std::int64_t by, std::int64_t next) {
    return {cost(epsilon, row, by),
            cost(epsilon, 2 * row, by),
            cost(epsilon, other),
            cost(epsilon, days, by),
            next,
            epsilon};
}

/// Of a counter and the one that it continues, together. A row of that one can use up ceil(b / a)
/// of the bound b, for the bound a.
Costs joint_costs_of(const Promise& promise) {
    const Predecessor& old = promise.row->old;
    const std::int64_t a = old.per_person;
    const std::int64_t b = promise.row->per_person;
    Numeric most = larger(old.epsilon, promise.epsilon);
    Numeric in_both = // a row's costs are times a * b
        sum(times(b, old.epsilon), times((b + a - 1) / a * a, promise.epsilon));
    Numeric row = larger(in_both, larger(times(2 * b, old.epsilon), times(2 * a, promise.epsilon)));
    return {cost(row, 1, a * b), cost(row, 2, a * b), cost(most, 2), cost(most, 3), 2, most};
}

/// A row that is removed lets another one in. Persons without a bound are added or removed in the
/// periods of the row alone, or move to another group there. With box noise that is one block, and
/// days that begin within a window touch one block more than it.
Costs costs_of(const Promise& promise) {
    const SourceCounterRow& row = *promise.row;
    if (row.old.number != 0)
        return joint_costs_of(promise);
    if (row.per_person != 0)
        return costs_of(promise.epsilon, 2, 2, 3 * row.per_person, row.per_person, 2);
    const std::int64_t by = promise.sensitivity;
    if (row.active != 0 && row.by != InvalidAttrNumber) // part of a window: two of the whole
        return costs_of(promise.epsilon, 2, 2, 3, 1, 2);
    if (row.active != 0 && promise.block != 0) // of the anchors' 5/21 of epsilon once
        return {cost(promise.epsilon, 1),
                cost(promise.epsilon, 2),
                cost(promise.epsilon, 37, 21),
                cost(promise.epsilon, 1),
                0,
                promise.epsilon};
    if (row.active != 0) // days that begin within one have one end more
        return costs_of(promise.epsilon, by, 1, by + 1, by, 1);
    if (promise.block != 0)
        return costs_of(promise.epsilon, 1, 1, by + 1, by, 1);
    const std::int64_t moves = row.by == InvalidAttrNumber ? 1 : 2;
    return costs_of(promise.epsilon, moves, moves, 2 * by, by, 1);
}

const char* plural(std::int64_t count) {
    return count == 1 ? "" : "s";
}

void append_bound(StringInfo text, const Promise& promise) {
    const SourceCounterRow& row = *promise.row;
    const auto bound = static_cast<long long>(row.per_person);
    const char* within = promise.unit->per_days != 0 ? " of each window" : "";
    if (row.active != 0)
        appendStringInfo(text,
                         " A person counts at the end of each period within %d days of an event%s,",
                         row.active,
                         row.by == InvalidAttrNumber
                             ? ""
                             : ", in the group of the first event of the last one's window");
    else if (row.per_person == 0)
        appendStringInfoString(text, " A person counts once in each period");
    else if (row.measure.kind == MeasureKind::persons)
        appendStringInfo(text, " A person counts in at most %lld period%s%s, once in each,", bound,
                         plural(bound), within);
    else
        appendStringInfo(text, " At most %lld event%s%s count%s", bound, plural(bound), within,
                         bound == 1 ? "s" : "");
    if (row.measure.kind == MeasureKind::sum || row.measure.kind == MeasureKind::avg)
        appendStringInfo(text, ", each as a number from %lld to %lld,",
                         static_cast<long long>(row.measure.lower),
                         static_cast<long long>(row.measure.upper));
    if (row.measure.kind == MeasureKind::histogram)
        appendStringInfo(text, ", each in one of %d bins,", row.measure.streams());
    char since[MAXDATELEN + 1]; // whatever the session's style is
    JsonEncodeDateTime(since, TimestampGetDatum(row.since), TIMESTAMPOID, nullptr);
    *std::strchr(since, 'T') = ' ';
    appendStringInfo(text, " from %s (%s) on.", since, promise.source->time_zone);
}

void append_costs(StringInfo text, const Promise& promise) {
    const Costs costs = costs_of(promise);
    const Predecessor& old = promise.row->old;
    const int days = promise.unit->per_days;
    const bool is_box = promise.block != 0 && promise.row->active == 0;
    if (promise.row->active != 0 && promise.block != 0)
        appendStringInfo(text, " The noise begins anew every %d periods.", promise.block);
    if (is_box && promise.block > 1)
        appendStringInfo(text,
                         " The noise is made for blocks of %d periods, of which %s touches at most "
                         "%lld.",
                         promise.block, days != 0 ? "a window" : "a person",
                         static_cast<long long>(promise.sensitivity));
    if (old.number != 0)
        appendStringInfo(text,
                         " It continues a counter with an epsilon of %s and a bound of %lld. Both "
                         "together are %s-differentially private. In both,",
                         text_of(old.epsilon), static_cast<long long>(old.per_person),
                         text_of(costs.epsilon));
    appendStringInfo(
        text, " %s row of the view more or less%s costs at most %s, any other change %s %s",
        old.number != 0 ? "one" : "One",
        is_box && promise.block > 1 ? ", or all rows of a person in one block,"
        : is_box                    ? ", or all rows of a person in one period,"
        : old.number != 0           ? ", of those that one of them reads,"
                                    : "",
        costs.row, days != 0 ? "within one window" : "of the rows of one person", costs.other);
    if (days != 0)
        appendStringInfo(
            text,
            "; all rows of a person in any %d day%s %s, in n times as many %s times %s; a row "
            "moved to "
            "another window %s",
            days, plural(days), costs.days,
            costs.next == 0 ? "n" : psprintf("(n + %lld)", static_cast<long long>(costs.next)),
            text_of(costs.epsilon), costs.moved);
    appendStringInfoChar(text, '.');
}

void append_words(StringInfo text, const Promise& promise) {
    if (promise.source->window_wise && promise.unit->per_days != 0)
        appendStringInfo(text,
                         " The owner of the source vouches that it is window-wise. A row without a "
                         "time that it joins, as a person's age, is protected at %s times the "
                         "number of the person's windows.",
                         text_of(promise.epsilon));
    else if (promise.source->person_wise)
        appendStringInfoString(text, " The owner of the source vouches that it is person-wise.");
}

/// How the guarantee begins: nobody else writes this.
char* opening(const Promise& promise) {
    const MeasureKind kind = promise.row->measure.kind;
    const char* what = kind == MeasureKind::sum            ? "Sums"
                       : kind == MeasureKind::histogram    ? "Histograms"
                       : promise.row->measure.is_average() ? "Averages"
                                                           : "Counts";
    if (promise.row->active != 0)
        return psprintf("Counts of active persons. All releases together are "
                        "%s-differentially private for all rows of one person",
                        text_of(promise.epsilon));
    const char* released =
        promise.cumulative && !promise.row->measure.is_average()
            ? "Running totals"
            : psprintf("%s of %s", what,
                       promise.cumulative ? "all periods so far" : "single periods");
    return psprintf("%s. All releases together are %s-differentially private for all rows of one "
                    "person",
                    released, text_of(promise.epsilon));
}

} // namespace

Promise promise_of_counter(const OpenCounter& counter, const SourceRow& source,
                           const BudgetUnit& unit) {
    const CounterRow& row = counter.row;
    return {&*counter.declared, &source,         &unit,    row.cumulative,
            row.epsilon,        row.sensitivity, row.block};
}

char* guarantee_of(const Promise& promise) {
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text, "%s (%s of %s)", opening(promise),
                     get_attname(promise.row->source, promise.source->person, false),
                     quoted_name(promise.row->source));
    if (promise.unit->per_days != 0)
        appendStringInfo(&text, " in one of that person's own windows of %d day%s",
                         promise.unit->per_days, plural(promise.unit->per_days));
    appendStringInfoString(&text, ", added or removed.");
    append_bound(&text, promise);
    append_costs(&text, promise);
    append_words(&text, promise);
    return text.data;
}

char* comment_of(const Promise& promise) {
    char* guarantee = guarantee_of(promise);
    const char* kept = kept_of(promise);
    return kept == nullptr ? guarantee : psprintf("%s %s", guarantee, kept);
}

void restate_guarantees(Oid source, const SourceRow& row) {
    const BudgetUnit unit = unit_of_source(row);
    ListCell* cell = nullptr;
    foreach (cell, counters_of_source(source)) {
        const Oid view = lfirst_oid(cell);
        if (!ConditionalLockRelationOid(view, ShareUpdateExclusiveLock)) { // as COMMENT does
            ereport(NOTICE, (errmsg("the comment of counter \"%s\" is not changed: another "
                                    "transaction changes the counter",
                                    name_of_relation(view))));
            continue;
        }
        const auto counter = find_counter(view);
        if (!counter)
            continue; // dropped meanwhile
        const Promise promise = promise_of_counter(*counter, row, unit);
        const char* comment = GetComment(view, RelationRelationId, 0);
        const char* own = opening(promise);
        if (comment != nullptr && std::strncmp(comment, own, std::strlen(own)) == 0)
            CreateComments(view, RelationRelationId, 0, comment_of(promise));
    }
}

ColumnTexts column_texts(const Promise& promise) {
    const SourceCounterRow& row = *promise.row;
    constexpr const char* kWhat[] = {"Events",
                                     "Persons",
                                     "Sum over the events",
                                     "Average over the events",
                                     "Share of the events for which the column is true, of those",
                                     "Events in this bin"};
    if (row.active != 0)
        return {psprintf("Persons with an event in the %d days before the end of the period, plus "
                         "noise",
                         row.active),
                "the exact number"};
    const bool is_persons = row.measure.kind == MeasureKind::persons;
    const char* when = !promise.cumulative ? "the period"
                       : is_persons        ? "each period, added up over all periods so far"
                                           : "all periods so far";
    const char* number =
        psprintf("%s of %s, plus noise", kWhat[static_cast<int>(row.measure.kind)], when);
    if (row.per_person == 0)
        return {number, "the exact number"};
    return {number, psprintf("the bounded number, in which at most %lld %s%s of a person%s count%s",
                             static_cast<long long>(row.per_person),
                             is_persons ? "period" : "event", plural(row.per_person),
                             promise.unit->per_days != 0 ? " in each own window" : "",
                             row.per_person == 1 ? "s" : "")};
}

} // namespace dp_counter::pg
