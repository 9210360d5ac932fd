// dp_budget_create, dp_budget_spend, dp_budget_drop: what a budget's owner calls.
#include "pg/budgets/budgets.hpp"
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
}

DP_FUNCTION(dp_budget_create) {
    using namespace dp_counter::pg;
    check_not_null(fcinfo->args[0], "name", "Give the name of the view to create.");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[1]);
    const std::int32_t number = next_counter_number();
    const Oid budget = create_view_of(PG_GETARG_TEXT_PP(0), "spendings", number);
    insert_budget(budget, number, epsilon);
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
    charge_budget(budget, epsilon, purpose, kNoCounter);
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
