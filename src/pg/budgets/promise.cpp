// dp_promise: what a budget promises to a person, and what has been charged to it.
#include <algorithm>
#include <cmath>

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/budgets.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"

extern "C" {
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
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

/// Its name, in one line: each line that follows is a charge.
const char* shown_budget(Oid budget) {
    char* name = pstrdup(quoted_name(budget));
    for (char* letter = name; *letter != '\0'; ++letter)
        if (*letter == '\n' || *letter == '\r')
            *letter = ' ';
    return name;
}

/// What more than the unit costs (docs/derivation.md, section 12). Any n windows' days meet n + 1
/// windows, and leave a part of the first one and of the last one: 2 epsilon each.
void append_costs(StringInfo text, const BudgetRow& budget) {
    const std::int32_t days = budget.per_days;
    if (days == 0) {
        appendStringInfo(text, " Any other change of the rows of one person costs at most %s.",
                         text_of(times(2, budget.epsilon)));
        return;
    }
    const auto windows = [&](std::int64_t n, std::int64_t more) {
        return text_of(times((n + days - 1) / days + more, budget.epsilon));
    };
    appendStringInfo(
        text,
        " Any other change within one window costs at most %s, all rows of a person in "
        "any 365 days %s, in any 730 days %s; all rows of a life cost %s for each "
        "window that has any, those of ten years at most %s.",
        text_of(times(2, budget.epsilon)), windows(365, 3), windows(730, 3),
        text_of(budget.epsilon), windows(3653, 1));
}

/// The columns of the budget's view by their places: its owner may have given them other names.
/// Times are exact, without what is 0.
const char* statement(Oid budget) {
    const auto shown = [](const char* column) {
        return psprintf("to_char(%s, 'YYYY-MM-DD HH24:MI:SS.US BC')", column);
    };
    return psprintf(
        "SELECT translate(purpose, chr(10) || chr(13), '  '), epsilon, "
        "regexp_replace(concat(', rows', ' from ' || %s, "
        "CASE WHEN since IS NOT NULL AND until IS NULL THEN ' on' END, ' to before ' || %s, "
        "CASE WHEN since IS NULL AND until IS NULL THEN ' of all times' END, "
        "', windows that begin from ' || %s || ' on', ', windows that begin before ' || %s), "
        "'(( 00:00)?:00)?[.]0{6}| AD', '', 'g') "
        "FROM %s AS b (purpose, epsilon, since, until, begins_from, begins_before, role, "
        "session_role, spent_at, cut_at, cut_by, cut_from, refunded_at) "
        "WHERE refunded_at IS NULL AND epsilon > 0 ORDER BY spent_at, purpose",
        shown("since"), shown("until"), shown("begins_from"), shown("begins_before"),
        quoted_name(budget));
}

void append_charges(StringInfo text, Oid budget) {
    SPI_connect();
    if (SPI_execute(statement(budget), true, 0) != SPI_OK_SELECT)
        elog(ERROR, "could not read budget %u", budget);
    for (uint64 i = 0; i < SPI_processed; ++i) {
        HeapTuple row = SPI_tuptable->vals[i];
        bool is_null = false;
        Numeric epsilon = DatumGetNumeric(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &is_null));
        appendStringInfo(text, "\n%s: %s, a factor of %s%s",
                         SPI_getvalue(row, SPI_tuptable->tupdesc, 1), text_of(epsilon),
                         factor_of(epsilon), SPI_getvalue(row, SPI_tuptable->tupdesc, 3));
    }
    SPI_finish();
}

} // namespace

char* promise_of(Oid existing) {
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
        share = psprintf(" It is a share of budget %s.", shown_budget(within.budget));
    return psprintf("The charges listed here may together spend an epsilon of %s about %s. Their "
                    "presence changes the probability of any outcome by at most a factor of %s.%s",
                    text_of(budget.epsilon), whom, factor_of(budget.epsilon), share);
}

} // namespace dp_counter::pg

DP_FUNCTION(dp_promise) {
    using namespace dp_counter::pg;
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    check_privilege(budget, ACL_SELECT);
    check_is_budget(budget);
    const BudgetRow row = require_budget(budget);
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text,
                     "Budget %s. %s Whoever would bet 1 to 1 that the person's rows are there "
                     "can have reason to bet %s to 1 afterwards, and no more.",
                     shown_budget(budget), promise_of(budget), factor_of(row.epsilon));
    append_costs(&text, row);
    appendStringInfoString(
        &text,
        " Not covered: releases about the same persons that are not charged here; rows about "
        "a person that have another person's key; what holds of everybody, with or without "
        "the person; when and how long ticks ran, and what the server shows of them.");
    Numeric left = left_of_budget(budget, row.range);
    appendStringInfo(&text, " Charged so far%s: %s",
                     row.per_days == 0 ? "" : " (the most about one window)",
                     text_of(difference(row.epsilon, left)));
    append_charges(&text, budget);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(text.data, text.len));
}
