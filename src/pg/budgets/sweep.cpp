#include <algorithm>
#include <tuple>

#include "pg/budgets/sweep.hpp"

#include "pg/server/decimal_epsilon.hpp"

extern "C" {
#include "utils/array.h"
}

namespace dp_counter::pg {

namespace {

/// What an end of an entry's s is, in the order in which those at one place come.
enum class Side {
    end,    ///< which is not one of its s
    first,  ///< which is
    before, ///< which is not: they begin after it
};

struct Position {
    Timestamp at;
    Side side;
    bool operator<(const Position& other) const {
        return std::tie(at, side) < std::tie(other.at, other.side);
    }
};

struct End {
    Position position;
    Numeric epsilon;
};

/// Where the s of an entry begin. -infinity is before all times.
Position begin_of(const BudgetEntry& entry, std::int32_t per_days) {
    const Timestamp since = entry.range.since;
    return std::max<Position>(
        {entry.begins.since, Side::first},
        {TIMESTAMP_IS_NOBEGIN(since) ? since : since - per_days * USECS_PER_DAY, Side::before});
}

Timestamp end_of(const BudgetEntry& entry) {
    return std::min(entry.range.until, entry.begins.until);
}

int compare_ends(const ListCell* a, const ListCell* b) {
    const auto* left = static_cast<const End*>(lfirst(a));
    const auto* right = static_cast<const End*>(lfirst(b));
    if (left->position < right->position)
        return -1;
    return right->position < left->position ? 1 : 0;
}

/// The ends of entries among the s of another one.
List* ends_within(const List* entries, std::int32_t per_days, const BudgetEntry& other) {
    List* ends = NIL;
    const ListCell* cell = nullptr;
    foreach (cell, entries) {
        const auto* entry = static_cast<const BudgetEntry*>(lfirst(cell));
        const Position from = std::max(begin_of(other, per_days), begin_of(*entry, per_days));
        const Position to{std::min(end_of(other), end_of(*entry)), Side::end};
        if (!(from < to))
            continue;
        for (const Position& position : {from, to}) {
            auto* end = static_cast<End*>(palloc(sizeof(End)));
            *end = {position, entry->epsilon};
            ends = lappend(ends, end);
        }
    }
    list_sort(ends, compare_ends);
    return ends;
}

} // namespace

Remaining remaining_of(Numeric total, const List* entries, std::int32_t per_days,
                       const BudgetEntry& wanted) {
    const EntryRange& range = wanted.range;
    Remaining remaining{total, range.since};
    Numeric left = total;
    Timestamp lacking =
        is_less(total, wanted.epsilon) ? DT_NOEND : DT_NOBEGIN; // the last s that lacks some
    const ListCell* cell = nullptr;
    foreach (cell, ends_within(entries, per_days, wanted)) {
        CHECK_FOR_INTERRUPTS();
        const auto* end = static_cast<const End*>(lfirst(cell));
        if (is_less(left, wanted.epsilon))
            lacking = std::max(lacking, end->position.at);
        left = end->position.side == Side::end ? sum(left, end->epsilon)
                                               : difference(left, end->epsilon);
        remaining.least = smaller(remaining.least, left);
    }
    if (lacking == DT_NOBEGIN)
        return remaining;
    const Timestamp last = std::min(range.until, END_TIMESTAMP) - per_days * USECS_PER_DAY;
    remaining.enough_from = lacking < last ? lacking + per_days * USECS_PER_DAY : range.until;
    return remaining;
}

Numeric left_of(Numeric total, const List* entries, std::int32_t per_days, EntryRange range,
                EntryRange begins) {
    return remaining_of(total, entries, per_days, {range, begins, zero_epsilon()}).least;
}

namespace {

/// The elements of an array of `count`, without nulls.
Datum* elements(Datum array, Oid type, int count) {
    Datum* values = nullptr;
    int found = 0;
    deconstruct_array(DatumGetArrayTypeP(array), type, type == NUMERICOID ? -1 : 8,
                      type != NUMERICOID, type == NUMERICOID ? TYPALIGN_INT : TYPALIGN_DOUBLE,
                      &values, nullptr, &found);
    if (found != count)
        ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                        errmsg("arrays must have the same number of elements")));
    return values;
}

} // namespace

/// For the view dp_budgets, which passes the entries.
DP_FUNCTION(dp_counter_most_spent) {
    const ArrayType* first = PG_GETARG_ARRAYTYPE_P(0);
    const int count = ArrayGetNItems(ARR_NDIM(first), ARR_DIMS(first));
    const auto times = [&](int argument) {
        return elements(PG_GETARG_DATUM(argument), TIMESTAMPOID, count);
    };
    const Datum* since = times(0);
    const Datum* until = times(1);
    const Datum* begins_from = times(2);
    const Datum* begins_before = times(3);
    const Datum* epsilon = elements(PG_GETARG_DATUM(4), NUMERICOID, count);
    List* entries = NIL;
    for (int i = 0; i < count; ++i) {
        auto* entry = static_cast<BudgetEntry*>(palloc(sizeof(BudgetEntry)));
        *entry = {{DatumGetTimestamp(since[i]), DatumGetTimestamp(until[i])},
                  {DatumGetTimestamp(begins_from[i]), DatumGetTimestamp(begins_before[i])},
                  DatumGetNumeric(epsilon[i])};
        entries = lappend(entries, entry);
    }
    Numeric none = zero_epsilon();
    PG_RETURN_NUMERIC(difference(none, left_of(none, entries, PG_GETARG_INTERVAL_P(5)->day,
                                               {PG_GETARG_TIMESTAMP(6), PG_GETARG_TIMESTAMP(7)})));
}

} // namespace dp_counter::pg
