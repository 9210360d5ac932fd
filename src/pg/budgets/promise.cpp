// dp_promise: what a budget promises to a person, and what has been charged to it.
#include <algorithm>
#include <cmath>

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/budgets.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/utc_day.hpp"
#include "pg/tables/secret_tables.hpp"

extern "C" {
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "storage/lmgr.h"
}

namespace dp_counter::pg {

namespace {

/// By which factor an epsilon may make an outcome more likely, rounded up.
const char* factor_of(Numeric epsilon) {
    const double factor = std::exp(mechanism_epsilon(epsilon));
    if (factor >= 1e6)
        return psprintf("e^%s", text_of(epsilon));
    const int digits = std::max(0, 2 - static_cast<int>(std::log10(factor)));
    const double scale = std::pow(10.0, digits);
    return psprintf("%.*f", digits, std::ceil(factor * scale) / scale);
}

const char* with_factor(Numeric epsilon) {
    return psprintf("%s (a factor of %s)", text_of(epsilon), factor_of(epsilon));
}

/// In one line: a name must not look like another sentence or charge.
const char* in_one_line(const char* words) {
    char* line = pstrdup(words);
    for (char* letter = line; *letter != '\0'; ++letter)
        if (*letter == '\n' || *letter == '\r')
            *letter = ' ';
    return line;
}

const char* shown_budget(Oid budget) {
    return in_one_line(quoted_name(budget));
}

/// What more than the unit costs (docs/derivation.md, section 12). Any n windows' days meet n + 1
/// windows, and leave a part of the first one and of the last one: 2 epsilon each.
void append_costs(StringInfo text, const BudgetRow& budget) {
    const std::int32_t days = budget.per_days;
    if (days == 0) {
        appendStringInfo(text, "\nAny other change of the rows of one person costs at most %s.",
                         with_factor(times(2, budget.epsilon)));
        return;
    }
    const auto windows = [&](std::int64_t n, std::int64_t more) {
        return with_factor(times((n + days - 1) / days + more, budget.epsilon));
    };
    appendStringInfo(
        text,
        "\nAny other change within one window costs at most %s, all rows of a person in "
        "any 365 days %s, in any 730 days %s; all rows of a life cost %s for each "
        "window that has any, those of ten years at most %s.",
        with_factor(times(2, budget.epsilon)), windows(365, 3), windows(730, 3),
        with_factor(budget.epsilon), windows(3653, 1));
}

/// The columns of the budget's view by their places: its owner may have given them other names.
/// Times are exact, without what is 0, and of their zone where they have one. Of what costs nothing
/// only a resumption is told.
const char* statement(Oid budget, bool is_utc) {
    const auto shown = [is_utc](const char* column) {
        return psprintf("to_char(%s, 'YYYY-MM-DD HH24:MI:SS.US BC')%s", column,
                        is_utc ? " || ' UTC'" : "");
    };
    return psprintf(
        "SELECT purpose, epsilon, "
        "regexp_replace(concat(', rows', ' from ' || %s, "
        "CASE WHEN since IS NOT NULL AND until IS NULL THEN ' on' END, ' to before ' || %s, "
        "CASE WHEN since IS NULL AND until IS NULL THEN ' of all times' END, "
        "', windows that begin from ' || %s || ' on', ', windows that begin before ' || %s), "
        "'(( 00:00)?:00)?[.]0{6}| AD', '', 'g'), "
        "spent_at, role "
        "FROM %s AS b (purpose, epsilon, since, until, begins_from, begins_before, role, "
        "session_role, spent_at, cut_at, cut_by, cut_from, refunded_at) "
        "WHERE refunded_at IS NULL AND (epsilon > 0 OR starts_with(purpose, 'dp_counter_resume of "
        "')) "
        "ORDER BY spent_at, purpose",
        shown("since"), shown("until"), shown("begins_from"), shown("begins_before"),
        quoted_name(budget));
}

void append_charges(StringInfo text, Oid budget, bool is_utc) {
    LockRelationOid(budget, AccessShareLock); // against other names
    check_exists(budget);
    SPI_connect();
    if (SPI_execute(statement(budget, is_utc), true, 0) != SPI_OK_SELECT)
        elog(ERROR, "could not read budget %u", budget);
    for (uint64 i = 0; i < SPI_processed; ++i) {
        HeapTuple row = SPI_tuptable->vals[i];
        const auto value = [row](int column) {
            bool is_null = false;
            return SPI_getbinval(row, SPI_tuptable->tupdesc, column, &is_null);
        };
        const char* purpose = in_one_line(SPI_getvalue(row, SPI_tuptable->tupdesc, 1));
        Numeric epsilon = DatumGetNumeric(value(2));
        if (is_less(zero_epsilon(), epsilon))
            appendStringInfo(text, "\n%s: %s, a factor of %s%s", purpose, text_of(epsilon),
                             factor_of(epsilon), SPI_getvalue(row, SPI_tuptable->tupdesc, 3));
        else
            appendStringInfo(text,
                             "\n%s: 0, resumed in a copy of the database on %s by %s: steps that "
                             "were seen before may have been released twice",
                             purpose, utc_day(DatumGetTimestampTz(value(4))),
                             in_one_line(SPI_getvalue(row, SPI_tuptable->tupdesc, 5)));
    }
    SPI_finish();
}

/// The names that the sources of a budget had, also of a dropped one.
List* names_of_sources(std::int64_t budget) {
    constexpr int kSource = 1; // a column of the history
    List* names = NIL;
    visit_secret_rows(kSourceHistory, {number_key(budget)},
                      [&](const Datum* values, const bool* /*nulls*/) {
                          names = lappend(names, TextDatumGetCString(values[kSource]));
                      });
    return names;
}

bool have_common_name(const List* names, const List* others) {
    const ListCell* name = nullptr;
    const ListCell* other = nullptr;
    foreach (name, names)
        foreach (other, others)
            if (strcmp(static_cast<char*>(lfirst(name)), static_cast<char*>(lfirst(other))) == 0)
                return true;
    return false;
}

/// What was spent about the same persons, as far as names tell, by budgets that were dropped. A
/// share has left what it spent in the budget it was within.
void append_dropped(StringInfo text, Oid budget, const BudgetRow& row) {
    const List* names = names_of_sources(row.number);
    const ListCell* cell = nullptr;
    foreach (cell, dropped_budgets()) {
        const auto* dropped = static_cast<const DroppedBudgetRow*>(lfirst(cell));
        BudgetRow within;
        if (!is_less(zero_epsilon(), dropped->spent) || dropped->within == row.root ||
            (read_budget_numbered(dropped->within, within) && within.root == row.root))
            continue;
        const bool has_name =
            dropped->name != nullptr && strcmp(dropped->name, quoted_name(budget)) == 0;
        if (!has_name && !have_common_name(names, names_of_sources(dropped->number)))
            continue;
        appendStringInfo(
            text, "\n%s was dropped on %s by %s, with %s spent: add it.",
            has_name ? "A budget of this name"
                     : psprintf("Budget %s, which had a source of the same name as this one,",
                                dropped->name == nullptr ? "without a view"
                                                         : in_one_line(dropped->name)),
            utc_day(dropped->dropped_at), in_one_line(dropped->dropped_by),
            with_factor(dropped->spent));
    }
}

/// The first sentences, each ended by `end` but the last one.
char* sentences_of(Oid existing, const char* end) {
    const BudgetRow budget = require_budget(existing);
    const std::int32_t days = budget.per_days;
    BudgetRow within;
    const char* whom =
        days == 0 ? "one person"
                  : psprintf("the rows of one person in one of that person's own windows of %d "
                             "day%s",
                             days, days == 1 ? "" : "s");
    const char* share = "";
    if (read_budget_numbered(budget.within, within) && OidIsValid(within.budget))
        share = psprintf("%sIt is a share of budget %s.", end, shown_budget(within.budget));
    return psprintf("The charges listed here may together spend an epsilon of %s about %s.%sTheir "
                    "presence changes the probability of any outcome by at most a factor of %s.%s",
                    text_of(budget.epsilon), whom, end, factor_of(budget.epsilon), share);
}

} // namespace

char* promise_of(Oid existing) {
    return sentences_of(existing, " ");
}

DP_FUNCTION(dp_promise) {
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    check_privilege(budget, ACL_SELECT);
    check_is_budget(budget);
    const BudgetRow row = require_budget(budget);
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text,
                     "Budget %s.\n%s\nWhoever would bet 1 to 1 that the person's rows are there "
                     "can have reason to bet %s to 1 afterwards, and no more.",
                     shown_budget(budget), sentences_of(budget, "\n"), factor_of(row.epsilon));
    append_costs(&text, row);
    appendStringInfoString(
        &text,
        "\nNot covered: releases about the same persons that are not charged here; rows about "
        "a person that have another person's key; what holds of everybody, with or without "
        "the person; when and how long ticks ran, and what the server shows of them.");
    append_dropped(&text, budget, row);
    Numeric left = left_of_budget(budget, row.range);
    appendStringInfo(&text, "\nCharged so far%s: %s",
                     row.per_days == 0 ? "" : " (the most about one window)",
                     with_factor(difference(row.epsilon, left)));
    append_charges(&text, budget, row.time_type == TIMESTAMPTZOID);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(text.data, text.len));
}

} // namespace dp_counter::pg
