// dp_counter_plan: what a counter costs and how accurate it is, from what its caller may read.
#include "pg/budgets/budgets.hpp"
#include "pg/budgets/unit.hpp"
#include "pg/events/public_facts.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/guarantee.hpp"
#include "pg/sources/kept_events.hpp"
#include "pg/sources/plan_rows.hpp"
#include "pg/tables/counter_privileges.hpp"
#include "pg/tables/open_counter.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "utils/acl.h"
}

namespace dp_counter::pg {
namespace {

/// What its bound keeps, and the guarantee, in words; and whether it is of active persons.
struct Described {
    const char* kept;      ///< null where there is no bound, or its source was dropped
    const char* guarantee; ///< null where its source was dropped
    bool is_active;
};

Described describe(const OpenCounter& counter) {
    if (!counter.declared)
        return {nullptr, guarantee_of_events(counter.row.epsilon), false};
    const bool is_active = counter.declared->active != 0;
    SourceRow source;
    if (!read_source(counter.declared->source, source))
        return {nullptr, nullptr, is_active};
    const BudgetUnit unit = unit_of_source(source);
    const Promise promise = promise_of_counter(counter, source, unit);
    return {kept_of(promise), guarantee_of(promise), is_active};
}

/// What is left of the budget that was charged, for the counter's own times; null for who may not
/// read it.
Numeric remaining_of(const CounterRow& row) {
    const Oid budget = budget_of_counter(row.number);
    const bool may_read =
        OidIsValid(budget) && pg_class_aclcheck(budget, GetUserId(), ACL_SELECT) == ACLCHECK_OK;
    return may_read ? left_for_counter(row.number) : nullptr;
}

} // namespace

DP_FUNCTION(dp_counter_plan) {
    const Oid view = read_relation(fcinfo->args[0], "counter");
    check_counter_privilege(view, ACL_SELECT);
    const OpenCounter counter = require_counter(find_counter(view));
    const Described described = describe(counter);
    const char* shown = psprintf(
        "(SELECT horizon, epsilon, k, mechanism, sensitivity, "
        "measure, cardinality(groups) AS groups, per FROM %s.dp_counters WHERE counter = %u::oid)",
        quoted_schema_of_function(fcinfo->flinfo->fn_oid), view);
    put_plan(
        fcinfo,
        {shown, counter.row.cumulative, described.is_active, remaining_of(counter.row),
         described.kept, described.guarantee, privacy_of(counter.row),
         counter.declared ? static_cast<std::int32_t>(counter.declared->measure.bins.size()) : 0,
         counter.row.is_in_totals});
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
