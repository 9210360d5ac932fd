// dp_budget_create, dp_budget_spend, dp_budget_drop: what a budget's owner calls; dp_budget_left.
#include <algorithm>

#include "pg/budgets/budgets.hpp"

#include "core/count/own_window.hpp"

#include "pg/budgets/budget_rows.hpp"
#include "pg/budgets/drop_budgets.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/default_privileges.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/public_view.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/comment.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {
namespace {

constexpr std::int32_t kMostDays = 36525; // a hundred years
constexpr std::int64_t kMostCells = std::int64_t{1} << 40;

/// Of dp_budget_create.
enum ArgumentIndex { kName, kEpsilon, kPer, kWithin, kSince, kUntil, kLimits };

/// The days of a person's own windows; 0 for NULL, a life.
std::int32_t read_per(const Argument& argument) {
    if (argument.isnull)
        return 0;
    const Interval& per = *DatumGetIntervalP(argument.value);
    const char* text = text_of(per);
    if (per.month != 0 || per.time != 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("per must be whole days or weeks, not \"%s\"", text),
                 errhint("All windows have the same length, and begin on days that nobody knows: "
                         "write '365 days' for a year, '28 days' for a month.")));
    if (per.day < 1 || per.day > kMostDays)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("per must be between 1 and %d days, not \"%s\"", kMostDays, text),
                        errhint("Without per, the budget is for a person's life.")));
    return per.day;
}

struct Times {
    Argument since, until;
};

constexpr const char* kTimesHint =
    "Write a time as the rows show it, for example '2026-01-01' or 'infinity'. Where the "
    "column is a timestamptz, it is in UTC: now() AT TIME ZONE 'UTC'.";

/// The arguments since and until, NULL or not. A budget for life takes none.
Times read_times(FunctionCallInfo fcinfo, int since_index, Oid budget, bool renews) {
    const Times times{fcinfo->args[since_index], fcinfo->args[since_index + 1]};
    if (!renews && (!times.since.isnull || !times.until.isnull))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("budget \"%s\" does not renew: it takes no since and until",
                               name_of_relation(budget)),
                        errhint("A charge to it is for all rows of a person, whenever they are.")));
    return times;
}

/// The range of a charge to this budget.
EntryRange read_range(FunctionCallInfo fcinfo, int since_index, Oid budget) {
    const bool renews = require_budget(budget).per_days != 0;
    const Times times = read_times(fcinfo, since_index, budget, renews);
    if (!renews)
        return kAllTimes;
    check_not_null(times.since, "since", kTimesHint);
    check_not_null(times.until, "until", kTimesHint);
    const EntryRange range{DatumGetTimestamp(times.since.value),
                           DatumGetTimestamp(times.until.value)};
    check_not_empty(range);
    return range;
}

/// When today began, as a column of this type shows it.
Timestamp today(Oid time_type) {
    const TimestampTz now = GetCurrentTransactionStartTimestamp();
    const Timestamp shown = time_type == TIMESTAMPTZOID
                                ? now
                                : DatumGetTimestamp(DirectFunctionCall1(timestamptz_timestamp,
                                                                        TimestampTzGetDatum(now)));
    return day_of(shown) * USECS_PER_DAY;
}

/// A range within that of this budget: by default all of it or, for a new budget, from today on.
EntryRange read_range_within(FunctionCallInfo fcinfo, int since_index, Oid within, bool is_new) {
    const BudgetRow row = require_budget(within);
    const Times times = read_times(fcinfo, since_index, within, row.per_days != 0);
    if (row.per_days == 0)
        return kAllTimes;
    const EntryRange& whole = row.range;
    const Timestamp first = is_new ? std::max(today(row.time_type), whole.since) : whole.since;
    const EntryRange range{times.since.isnull ? first : DatumGetTimestamp(times.since.value),
                           times.until.isnull ? whole.until : DatumGetTimestamp(times.until.value)};
    check_not_empty(range);
    return range;
}

BudgetLimits read_limits(FunctionCallInfo fcinfo, int index, Numeric epsilon) {
    Numeric least = fcinfo->args[index].isnull ? trimmed(product(epsilon, decimal("0.01")))
                                               : DatumGetNumeric(fcinfo->args[index].value);
    if (!is_less(zero_epsilon(), least) || is_less(epsilon, least))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("least_epsilon must be above 0 and at most epsilon, %s, not %s",
                               text_of(epsilon), text_of(least)),
                        errhint("It is the least epsilon of a counter that an analyst declares.")));
    const std::int64_t cells =
        fcinfo->args[index + 1].isnull ? 100000 : DatumGetInt64(fcinfo->args[index + 1].value);
    check_number(
        "most_cells", cells, kMostCells,
        "It is the most that the groups times the periods in a year of a counter may be that an "
        "analyst declares.");
    return {least, cells};
}

/// The budget that the new one is within; invalid if it is none.
Oid read_within(FunctionCallInfo fcinfo) {
    if (fcinfo->args[kWithin].isnull) {
        if (!fcinfo->args[kSince].isnull || !fcinfo->args[kUntil].isnull)
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("since and until require within"),
                            errhint("A budget that is within no other is for rows of all times.")));
        return InvalidOid;
    }
    if (!fcinfo->args[kPer].isnull)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("per cannot be given together with within"),
                        errhint("A budget has the per of the budget it is within.")));
    const Oid within = DatumGetObjectId(fcinfo->args[kWithin].value);
    check_budget_owned(within);
    return within;
}

/// What the view and its columns hold.
void comment_on_budget(Oid budget) {
    CreateComments(budget, RelationRelationId, 0, psprintf("Budget. %s", promise_of(budget)));
    AttrNumber column = 0;
    for (const char* text :
         {"What was charged: a counter, a budget or a query", "Epsilon of the charge",
          "Rows from this time on, as they show it; NULL: all earlier ones",
          "Rows before this time; NULL: all later ones",
          "Windows that begin at this time or later; NULL: also earlier ones",
          "Windows that begin before this time; NULL: also later ones", "Role that made it",
          "Role that had connected: session_user", "When it was made",
          "When its end was moved to until; NULL: it was not", "Role that did so",
          "End that it had before; NULL: none",
          "When it was refunded, so that it counts no more; NULL: it was not", "Role that did so"})
        CreateComments(budget, RelationRelationId, ++column, text);
}

} // namespace

DP_FUNCTION(dp_budget_create) {
    check_not_null(fcinfo->args[kName], "name", "Give the name of the view to create.");
    PreventCommandIfReadOnly("dp_budget_create()");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[kEpsilon]);
    const std::int32_t per_days = read_per(fcinfo->args[kPer]);
    const BudgetLimits limits = read_limits(fcinfo, kLimits, epsilon);
    const Oid within = read_within(fcinfo);
    EntryRange range = kAllTimes;
    if (OidIsValid(within))
        range = read_range_within(fcinfo, kSince, within, true);
    const auto [budget, number] = create_view_of(PG_GETARG_TEXT_PP(kName), "spendings");
    revoke_default_privileges(budget); // INSERT would spend it
    if (OidIsValid(within)) {
        insert_budget_within(budget, number, epsilon, within, range, limits);
        check_owner(within); // it may have changed while the charge waited
    } else
        insert_budget(budget, number, epsilon, per_days, limits);
    comment_on_budget(budget);
    PG_RETURN_OID(budget);
}

DP_FUNCTION(dp_budget_spend) {
    check_can_commit(fcinfo, "dp_budget_spend",
                     "It commits, since a release that was seen cannot be rolled back.");
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[1]);
    check_not_null(fcinfo->args[2], "purpose", "Describe what is released.");
    const char* purpose = text_to_cstring(PG_GETARG_TEXT_PP(2));
    PreventCommandIfReadOnly("dp_budget_spend()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    next_transaction();
    check_budget_owned(budget);
    PushActiveSnapshot(GetTransactionSnapshot()); // an entry may be toasted
    charge_budget(budget, epsilon, purpose, kNoCounter, read_range(fcinfo, 3, budget));
    check_owner(budget); // it may have changed while the charge waited
    PopActiveSnapshot();
    SPI_commit();
    SPI_start_transaction();
    SPI_finish();
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_budget_left) {
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    check_privilege(budget, ACL_SELECT);
    check_is_budget(budget);
    PG_RETURN_NUMERIC(left_of_budget(budget, read_range_within(fcinfo, 1, budget, false)));
}

DP_FUNCTION(dp_budget_drop) {
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    PreventCommandIfReadOnly("dp_budget_drop()");
    check_owner(budget); // before the lock, so that nobody else can make others wait
    check_is_budget(budget);
    // Not after a weaker one: two drops would deadlock.
    LockRelationOid(budget, AccessExclusiveLock);
    check_owner(budget);
    delete_budget(budget); // the event trigger refuses to drop what was spent from
    check_owner(budget);   // it may have changed while the call waited for the budget above
    drop_view(budget);
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
