#include <algorithm>

#include "pg/budgets/sweep.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

struct End {
    Timestamp at;
    bool begins;
    Numeric epsilon;
};

/// A range's first s, which it does not contain. -infinity is before all times.
Timestamp before(Timestamp since, std::int32_t per_days) {
    return TIMESTAMP_IS_NOBEGIN(since) ? since : since - per_days * USECS_PER_DAY;
}

int compare_ends(const ListCell* a, const ListCell* b) {
    const auto* left = static_cast<const End*>(lfirst(a));
    const auto* right = static_cast<const End*>(lfirst(b));
    if (left->at != right->at)
        return left->at < right->at ? -1 : 1;
    if (left->begins == right->begins)
        return 0;
    return right->begins ? -1 : 1; // an end comes first: ranges are half-open
}

Numeric sum(Numeric a, Numeric b) {
    return DatumGetNumeric(
        DirectFunctionCall2(numeric_add, NumericGetDatum(a), NumericGetDatum(b)));
}

Numeric difference(Numeric a, Numeric b) {
    return DatumGetNumeric(
        DirectFunctionCall2(numeric_sub, NumericGetDatum(a), NumericGetDatum(b)));
}

bool is_less(Numeric a, Numeric b) {
    return DatumGetBool(DirectFunctionCall2(numeric_lt, NumericGetDatum(a), NumericGetDatum(b)));
}

/// The ends of entries among the s of the range.
List* ends_within(const List* entries, std::int32_t per_days, EntryRange range) {
    List* ends = NIL;
    const Timestamp first = before(range.since, per_days);
    const ListCell* cell = nullptr;
    foreach (cell, entries) {
        const auto* entry = static_cast<const BudgetEntry*>(lfirst(cell));
        const Timestamp from = std::max(first, before(entry->range.since, per_days));
        const Timestamp to = std::min(range.until, entry->range.until);
        if (from >= to)
            continue;
        for (const bool begins : {true, false}) {
            auto* end = static_cast<End*>(palloc(sizeof(End)));
            *end = {begins ? from : to, begins, entry->epsilon};
            ends = lappend(ends, end);
        }
    }
    list_sort(ends, compare_ends);
    return ends;
}

} // namespace

Rest rest_of(Numeric total, const List* entries, std::int32_t per_days, EntryRange range,
             Numeric wanted) {
    Rest rest{total, range.since};
    Numeric left = total;
    Timestamp lacking =
        is_less(total, wanted) ? DT_NOEND : DT_NOBEGIN; // the last s that lacks some
    const ListCell* cell = nullptr;
    foreach (cell, ends_within(entries, per_days, range)) {
        CHECK_FOR_INTERRUPTS();
        const auto* end = static_cast<const End*>(lfirst(cell));
        if (is_less(left, wanted))
            lacking = std::max(lacking, end->at);
        left = end->begins ? difference(left, end->epsilon) : sum(left, end->epsilon);
        if (is_less(left, rest.least))
            rest.least = left;
    }
    if (lacking == DT_NOBEGIN)
        return rest;
    const Timestamp last = std::min(range.until, END_TIMESTAMP) - per_days * USECS_PER_DAY;
    rest.enough_from = lacking < last ? lacking + per_days * USECS_PER_DAY : range.until;
    return rest;
}

namespace {

/// The elements of an array without nulls.
Datum* elements(Datum array, Oid type, int* count) {
    Datum* values = nullptr;
    deconstruct_array(DatumGetArrayTypeP(array), type, type == NUMERICOID ? -1 : 8,
                      type != NUMERICOID, type == NUMERICOID ? TYPALIGN_INT : TYPALIGN_DOUBLE,
                      &values, nullptr, count);
    return values;
}

} // namespace
} // namespace dp_counter::pg

/// For the view dp_budgets, which passes the entries.
DP_FUNCTION(dp_counter_most_spent) {
    using namespace dp_counter::pg;
    int count = 0, untils = 0, epsilons = 0;
    const Datum* since = elements(PG_GETARG_DATUM(0), TIMESTAMPOID, &count);
    const Datum* until = elements(PG_GETARG_DATUM(1), TIMESTAMPOID, &untils);
    const Datum* epsilon = elements(PG_GETARG_DATUM(2), NUMERICOID, &epsilons);
    if (untils != count || epsilons != count)
        elog(ERROR, "arrays of different lengths");
    List* entries = NIL;
    for (int i = 0; i < count; ++i) {
        auto* entry = static_cast<BudgetEntry*>(palloc(sizeof(BudgetEntry)));
        *entry = {{DatumGetTimestamp(since[i]), DatumGetTimestamp(until[i])},
                  DatumGetNumeric(epsilon[i])};
        entries = lappend(entries, entry);
    }
    Numeric none = DatumGetNumeric(DirectFunctionCall1(int4_numeric, Int32GetDatum(0)));
    const Rest rest = rest_of(none, entries, PG_GETARG_INTERVAL_P(3)->day,
                              {PG_GETARG_TIMESTAMP(4), PG_GETARG_TIMESTAMP(5)}, none);
    PG_RETURN_NUMERIC(difference(none, rest.least));
}
