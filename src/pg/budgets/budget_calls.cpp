// dp_budget_create, dp_budget_spend, dp_budget_drop: what a budget's owner calls.
#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/commits.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {
namespace {

constexpr std::int32_t kMostDays = 36525; // a hundred years

/// The days of a person's own windows; 0 for NULL, a life.
std::int32_t read_per(const Argument& argument) {
    if (argument.isnull)
        return 0;
    const Interval& per = *DatumGetIntervalP(argument.value);
    const char* text = DatumGetCString(DirectFunctionCall1(interval_out, argument.value));
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

/// The range of a charge to this budget. A budget for life takes none.
EntryRange read_range(FunctionCallInfo fcinfo, int since_index, int until_index, Oid budget) {
    constexpr const char* kHint =
        "Write a time as the rows show it, for example '2026-01-01' or 'infinity'. Where the "
        "column is a timestamptz, it is in UTC: now() AT TIME ZONE 'UTC'.";
    const Argument since = read_local_time(fcinfo, since_index, "since", kHint);
    const Argument until = read_local_time(fcinfo, until_index, "until", kHint);
    if (unit_of_budget(budget).per_days == 0) {
        if (!since.isnull || !until.isnull)
            ereport(ERROR,
                    (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                     errmsg("budget \"%s\" does not renew: it takes no since and until",
                            get_rel_name(budget)),
                     errhint("A charge to it is for all rows of a person, whenever they are.")));
        return kAllTimes;
    }
    check_not_null(since, "since", kHint);
    check_not_null(until, "until", kHint);
    const EntryRange range{DatumGetTimestamp(since.value), DatumGetTimestamp(until.value)};
    check_not_empty(range);
    return range;
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_budget_create) {
    using namespace dp_counter::pg;
    check_not_null(fcinfo->args[0], "name", "Give the name of the view to create.");
    PreventCommandIfReadOnly("dp_budget_create()");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[1]);
    const std::int32_t per_days = read_per(fcinfo->args[2]);
    const std::int32_t number = next_counter_number();
    const Oid budget = create_view_of(PG_GETARG_TEXT_PP(0), "spendings", number);
    insert_budget(budget, number, epsilon, per_days);
    PG_RETURN_OID(budget);
}

DP_FUNCTION(dp_budget_spend) {
    using namespace dp_counter::pg;
    check_can_commit(fcinfo, "dp_budget_spend",
                     "It commits, since a release that was seen cannot be rolled back.");
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[1]);
    check_not_null(fcinfo->args[2], "purpose", "Describe what is released.");
    const char* purpose = text_to_cstring(PG_GETARG_TEXT_PP(2));
    PreventCommandIfReadOnly("dp_budget_spend()");
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    next_transaction();
    check_budget_usable(budget);
    PushActiveSnapshot(GetTransactionSnapshot()); // an entry may be toasted
    charge_budget(budget, epsilon, purpose, kNoCounter, read_range(fcinfo, 3, 4, budget));
    PopActiveSnapshot();
    SPI_commit();
    SPI_start_transaction();
    SPI_finish();
    PG_RETURN_VOID();
}

DP_FUNCTION(dp_budget_drop) {
    using namespace dp_counter::pg;
    const Oid budget = read_relation(fcinfo->args[0], "budget");
    PreventCommandIfReadOnly("dp_budget_drop()");
    check_budget_usable(budget);
    LockRelationOid(budget, AccessExclusiveLock);
    check_budget_usable(budget); // the owner may have changed
    check_charges_no_source(budget, get_rel_name(budget));
    delete_budget(budget); // the event trigger refuses to drop what was spent from
    drop_view(budget);
    PG_RETURN_VOID();
}
