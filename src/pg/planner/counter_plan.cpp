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
#include "pg/tables/counters_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {
namespace {

/// What its bound keeps, and the guarantee, in words; and whether it is of active persons.
struct Described {
    const char* kept;      ///< null where there is no bound, or its source was dropped
    const char* guarantee; ///< null where its source was dropped
    bool is_active;
};

Described describe(Oid counter, const CounterRow& row) {
    SourceCounterRow declared;
    if (!read_source_counter(counter, declared))
        return {nullptr, guarantee_of_events(row.epsilon), false};
    SourceRow source;
    if (!read_source(declared.source, source))
        return {nullptr, nullptr, declared.active != 0};
    const BudgetUnit unit = unit_of_source(source);
    const Promise promise{&declared,   &source,         &unit,    row.cumulative,
                          row.epsilon, row.sensitivity, row.block};
    return {kept_of(promise), guarantee_of(promise), declared.active != 0};
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
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_plan) {
    using namespace dp_counter::pg;
    const Oid counter = read_relation(fcinfo->args[0], "counter");
    check_counter_privilege(counter, ACL_SELECT);
    CounterRow row;
    if (!read_counter(counter, row))
        raise_dropped();
    const Described described = describe(counter, row);
    const char* shown = psprintf(
        "(SELECT horizon, epsilon, k, mechanism, sensitivity, "
        "measure, cardinality(groups) AS groups, per FROM %s.dp_counters WHERE counter = %u::oid)",
        quoted_schema_of_function(fcinfo->flinfo->fn_oid), counter);
    put_plan(fcinfo, {shown, row.cumulative, described.is_active, remaining_of(row), described.kept,
                      described.guarantee});
    PG_RETURN_VOID();
}
