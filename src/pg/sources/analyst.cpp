#include "pg/sources/analyst.hpp"

#include <algorithm>

#include "pg/budgets/budget_rows.hpp"
#include "pg/calendar/periods.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/relations.hpp"
#include "pg/vetting/never_fails.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/acl.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
}

namespace dp_counter::pg {

namespace {

constexpr int kMostYears = 100;                          // from `since` to now
constexpr int kMostYearsOfCells = 10;                    // that the first tick releases
constexpr std::int64_t kMonth = 2629746 * USECS_PER_SEC; // a twelfth of 365.2425 days

bool may_reference(Oid relation, AttrNumber column) {
    return column > InvalidAttrNumber &&
           pg_attribute_aclcheck(relation, column, GetUserId(), ACL_REFERENCES) == ACLCHECK_OK;
}

bool may_declare(Oid source, const SourceArguments& arguments) {
    if (is_owner_or_may(source, ACL_REFERENCES))
        return true;
    const MeasureArguments& measure = arguments.measure;
    bool is_any_named = false;
    for (const Argument& argument : {arguments.event, arguments.by, measure.sum, measure.avg,
                                     measure.share, measure.histogram}) {
        if (argument.isnull)
            continue;
        is_any_named = true;
        if (!may_reference(source, get_attnum(source, TextDatumGetCString(argument.value))))
            return false;
    }
    return is_any_named || pg_attribute_aclcheck_all(source, GetUserId(), ACL_REFERENCES,
                                                     ACLMASK_ANY) == ACLCHECK_OK;
}

/// How many periods begin in a time of this length, at most. A month is a twelfth of 365.2425 days.
std::int64_t periods_in(const Interval& every, std::int64_t time) {
    const int128 length =
        int128{every.month} * kMonth + int128{every.day} * USECS_PER_DAY + every.time;
    return static_cast<std::int64_t>((int128{time} + length - 1) / length);
}

Timestamp years_before(Timestamp time, int count) {
    Interval years{};
    years.month = count * MONTHS_PER_YEAR;
    return DatumGetTimestamp(DirectFunctionCall2(timestamp_mi_interval, TimestampGetDatum(time),
                                                 IntervalPGetDatum(&years)));
}

/// Raises invalid_parameter_value if the cells are more than `most`.
void check_cells(const Measure& measure, std::int64_t groups, std::int64_t periods,
                 std::int64_t most, const char* which, const char* detail, const char* hint) {
    const auto bins = std::max<std::int64_t>(static_cast<std::int64_t>(measure.bins.size()), 1);
    if (periods > most / (groups * bins))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("groups times %speriods %s must be at most %lld, not %lld times "
                        "%s%lld",
                        bins > 1 ? "bins times " : "", which, static_cast<long long>(most),
                        static_cast<long long>(groups),
                        bins > 1 ? psprintf("%lld times ", static_cast<long long>(bins)) : "",
                        static_cast<long long>(periods)),
                 errdetail("%s", detail), errhint("%s", hint)));
}

[[noreturn]] void raise_not_charged(Oid source, Oid budget) {
    const Oid within = chargeable_within(budget);
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
             errmsg("permission denied for the budget of source \"%s\"", name_of_relation(source)),
             OidIsValid(within)
                 ? errhint("Name a budget within it that you may charge: budget => %s.",
                           quote_literal_cstr(quoted_name(within)))
                 : errhint("Its owner can grant INSERT on it, or make a budget within it for you: "
                           "dp_budget_create with within => %s.",
                           quote_literal_cstr(quoted_name(budget)))));
}

void check_charged(const SourceArguments& arguments, Oid source, Oid budget) {
    if (arguments.budget.isnull)
        check_not_lost(budget);
    if (arguments.budget.isnull && !is_owner_or_may(budget, ACL_INSERT))
        raise_not_charged(source, budget);
    check_budget_chargeable(budget);
}

} // namespace

void check_may_declare(const SourceArguments& arguments) {
    const Oid source = DatumGetObjectId(arguments.source.value);
    check_exists(source);
    if (!may_declare(source, arguments))
        raise_denied(source);
}

Oid read_charged_budget(const SourceArguments& arguments, const SourceRow& declared) {
    const Oid source = DatumGetObjectId(arguments.source.value);
    const Oid budget =
        arguments.budget.isnull ? declared.budget : DatumGetObjectId(arguments.budget.value);
    check_charged(arguments, source, budget);
    if (!is_within(budget, declared.budget_number))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("budget \"%s\" is neither that of source \"%s\" nor within it",
                               name_of_relation(budget), name_of_relation(source)),
                        errhint("The view dp_budgets lists the budgets.")));
    return budget;
}

void check_never_fails(const SourceCounterRow& row, const SourceRow& source, int sqlstate) {
    if (!row.analyst)
        return;
    const AttrNumber columns[] = {row.event, row.measure.column, row.by};
    const char* reason = why_may_fail(row.source, source, columns, lengthof(columns));
    if (reason != nullptr)
        ereport(ERROR,
                (errcode(sqlstate),
                 errmsg("source \"%s\" may fail for some rows", name_of_relation(row.source)),
                 errdetail("%s", reason),
                 errhint("Its owner can vouch for the column, by calling dp_source_create again "
                         "with never_fails.")));
}

void check_limits(const SourceDeclaration& declaration, Numeric epsilon, std::int64_t horizon) {
    const SourceCounterRow& row = declaration.row;
    if (!row.analyst)
        return;
    const char* budget = name_of_relation(declaration.budget);
    const BudgetRow limits = require_budget(declaration.budget);
    if (is_less(epsilon, limits.least_epsilon))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("epsilon must be at least %s, not %s", text_of(limits.least_epsilon),
                               text_of(epsilon)),
                        errdetail("It is the least that budget \"%s\" allows an analyst's counter.",
                                  budget)));
    const Timestamp now =
        local_of(GetCurrentTransactionStartTimestamp(), declaration.source.time_zone);
    const std::int64_t groups = declaration.streams / row.measure.streams();
    const auto periods = [&](std::int64_t time) {
        const std::int64_t count = periods_in(row.every, time);
        return horizon == kUnbounded ? count : std::min(count, horizon);
    };
    check_cells(row.measure, groups, periods(kMonth * MONTHS_PER_YEAR), limits.most_cells,
                "in a year",
                psprintf("It is the most that budget \"%s\" allows an analyst's counter.", budget),
                "Use longer periods or fewer groups.");
    if (row.since < years_before(now, kMostYears))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("since must be at most %d years ago, not \"%s\"", kMostYears,
                               text_of(row.since))));
    check_cells(row.measure, groups, periods(std::max<std::int64_t>(now - row.since, 0)),
                kMostYearsOfCells * limits.most_cells, "until now",
                psprintf("It is %d times the most that budget \"%s\" allows for a year.",
                         kMostYearsOfCells, budget),
                "Use a later since, longer periods or fewer groups.");
}

void check_still_may_declare(const SourceArguments& arguments, const SourceDeclaration& declaration,
                             Oid counter) {
    AcceptInvalidationMessages();
    if (!declaration.row.analyst)
        check_owner(declaration.row.source); // else it would need the limits of an analyst's
    if (declaration.continued)
        check_owner(declaration.continued->view);
    check_may_declare(arguments);
    check_charged(arguments, declaration.row.source, declaration.budget);
    check_may_create(get_rel_namespace(counter), declaration.owner);
}

} // namespace dp_counter::pg
