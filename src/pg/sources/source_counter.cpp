#include <algorithm>

#include "pg/sources/source_counter.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/persons/tallies.hpp"
#include "pg/server/place.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/continues.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/secret_tables.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

/// Whose tallies its next tick reads.
std::int64_t number_of_tallies(const SourceCounterRow& declared, const CounterRow& row) {
    return row.steps == 0 && declared.old.number != 0 ? declared.old.number : row.number;
}

/// The tallies of a counter that is dropped. What it has not taken over stays that other counter's,
/// if it is there; what it has handed over is not its own.
void drop_tallies(const SourceCounterRow& declared, const CounterRow& row) {
    const std::int64_t number = number_of_tallies(declared, row);
    if (number != row.number) {
        lock_number(kCounters, number);
        if (give_back_tally_key(number, declared.key))
            return;
    }
    if (has_tally_key(declared))
        delete_tallies(number);
}

} // namespace

void end_charge(Oid counter, const CounterRow& row) {
    SourceCounterRow declared{};
    const Oid time_type = time_type_of_counter(row.number);
    if (!OidIsValid(time_type) || !read_source_counter(counter, declared))
        return;
    Timestamp end = row.steps == 0 ? DT_NOBEGIN : end_of_last_step(declared, time_type, row.steps);
    if (!is_here(row.place)) // a day from now is enough in every zone
        end = std::max<Timestamp>(end, GetCurrentTimestamp() + USECS_PER_DAY);
    end_charge_of_counter(row.number, end);
}

void declare_source_counter(Oid counter, std::int64_t number, Numeric epsilon,
                            const SourceDeclaration& declaration) {
    insert_source_counter(counter, declaration.row);
    insert_groups(number, 1, declaration.groups, declaration.row.groups);
    if (OidIsValid(declaration.continued)) {
        end_continued(declaration);
        charge_continuing(declaration, epsilon, quoted_name(counter), number);
        return;
    }
    if (declaration.row.has_tallies())
        mark_tallies(number);
    charge_budget(declaration.budget, epsilon, quoted_name(counter), number, declaration.range);
}

bool may_take_back(Oid counter) {
    SourceCounterRow declared;
    CounterRow row;
    if (!read_source_counter(counter, declared) || !declared.analyst || declared.begun ||
        !read_counter(counter, row) || !is_here(row.place))
        return false;
    const Oid budget = budget_of_counter(row.number);
    return OidIsValid(budget) && is_owner_or_may(budget, ACL_INSERT);
}

void check_has_tallies(Oid counter, const CounterRow& row) {
    SourceCounterRow declared;
    if (read_source_counter(counter, declared) && declared.has_tallies())
        check_tallies(number_of_tallies(declared, row));
}

void lock_source_of(Oid counter) {
    SourceCounterRow source;
    if (read_source_counter(counter, source) && OidIsValid(source.source))
        LockRelationOid(source.source, AccessShareLock);
}

bool find_open_period(Oid counter, const CounterRow& row, TimestampTz now, OpenPeriod& period) {
    SourceCounterRow declared;
    SourceRow source;
    if (!read_source_counter(counter, declared) || !read_source(declared.source, source))
        return false;
    const Schedule schedule{get_atttype(declared.source, source.at), source.time_zone,
                            declared.since, declared.every, declared.grace};
    return find_open_period(schedule, row.steps, row.horizon, declared.ended, now, period);
}

void forget_tallies(Oid counter, std::int64_t number) {
    delete_tallies(number);
    forget_tally_key(counter);
}

void end_source_counter(Oid counter, const CounterRow& row) {
    end_charge(counter, row);
    forget_tallies(counter, row.number);
}

void drop_source_counter(Oid counter, const CounterRow& row, const char* name) {
    SourceCounterRow declared{};
    (void)read_source_counter(counter, declared);
    if (row.steps != 0 || !is_here(row.place))
        end_charge(counter, row);
    else if (!declared.begun) // nothing was released, and no failure has told an analyst anything
        refund_budget(row.number);
    close_charge_of_counter(row.number, name);
    (void)delete_source_counter(counter);
    delete_groups(row.number);
    drop_tallies(declared, row);
}

} // namespace dp_counter::pg
