#include <algorithm>

#include "pg/sources/source_counter.hpp"

#include "pg/budgets/budgets.hpp"
#include "pg/persons/tallies.hpp"
#include "pg/server/place.hpp"
#include "pg/server/relations.hpp"
#include "pg/sources/continues.hpp"
#include "pg/tables/groups_table.hpp"
#include "pg/tables/sources_table.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace dp_counter::pg {

namespace {

/// The tallies of a counter that is dropped. What it has not taken over stays that other counter's,
/// if it is there; but not in a copy, where the original may have used it up since. What it has
/// handed over is not its own.
void drop_tallies(const OpenCounter& counter) {
    const std::int64_t number = number_of_tallies(counter);
    if (number != counter.row.number && is_here(counter.row.place) &&
        give_back_tally_key(number, counter.declared->key))
        return;
    if (has_tally_key(*counter.declared))
        delete_tallies(number);
}

} // namespace

std::int64_t number_of_tallies(const OpenCounter& counter) {
    const Predecessor& old = counter.declared->old;
    return counter.row.steps == 0 && old.number != 0 ? old.number : counter.row.number;
}

void end_charge(const OpenCounter& counter) {
    const CounterRow& row = counter.row;
    const Oid time_type = time_type_of_counter(row.number);
    if (!OidIsValid(time_type))
        return;
    Timestamp end = row.steps == 0 ? DT_NOBEGIN : end_of_last_step(counter, time_type);
    if (row.steps == 0 || !is_here(row.place)) // a day from now is enough in every zone
        end = std::max<Timestamp>(end, GetCurrentTimestamp() + USECS_PER_DAY);
    end_charge_of_counter(row.number, end);
}

void declare_source_counter(Oid counter, std::int64_t number, Numeric epsilon,
                            const SourceDeclaration& declaration) {
    insert_source_counter(number, declaration.row);
    insert_groups(number, 1, declaration.groups, declaration.row.groups);
    if (declaration.continued) {
        end_continued(declaration);
        charge_continuing(declaration, epsilon, quoted_name(counter), number);
        return;
    }
    if (declaration.row.has_tallies())
        mark_tallies(number);
    charge_budget(declaration.budget, epsilon, quoted_name(counter), number, declaration.range);
}

bool may_take_back(Oid counter) {
    const auto found = find_counter(counter);
    if (!found || !found->declared || !found->declared->analyst || found->declared->begun ||
        !is_here(found->row.place))
        return false;
    const Oid budget = budget_of_counter(found->row.number);
    return OidIsValid(budget) && is_owner_or_may(budget, ACL_INSERT);
}

void check_has_tallies(const OpenCounter& counter) {
    if (counter.declared && counter.declared->has_tallies() && has_tally_key(*counter.declared))
        check_tallies(number_of_tallies(counter), counter.row.number);
}

void lock_source_of(Oid counter) {
    Oid source = source_of(counter);
    while (OidIsValid(source)) {
        LockRelationOid(source, AccessShareLock);
        const Oid locked = source;
        source = source_of(counter); // another one, if it was made again meanwhile
        if (source == locked)
            return;
    }
}

bool find_open_period(const OpenCounter& counter, TimestampTz now, OpenPeriod& period) {
    SourceRow source;
    if (!counter.declared || !read_source(counter.declared->source, source))
        return false;
    const SourceCounterRow& declared = *counter.declared;
    const Schedule schedule{get_atttype(declared.source, source.at), source.time_zone,
                            declared.since, declared.every, declared.grace};
    return find_open_period(schedule, counter.row.steps, counter.row.horizon, declared.ended, now,
                            period);
}

void forget_tallies(std::int64_t number) {
    delete_tallies(number);
    forget_tally_key(number);
}

void end_source_counter(const OpenCounter& counter) {
    end_charge(counter);
    forget_tallies(counter.row.number);
}

void drop_source_counter(const OpenCounter& counter, const char* name) {
    const CounterRow& row = counter.row;
    if (row.steps != 0 || counter.declared->begun || !is_here(row.place))
        end_charge(counter);
    else // nothing was released, and no failure has told an analyst anything
        refund_budget(row.number);
    close_charge_of_counter(row.number, name);
    drop_tallies(counter);
}

} // namespace dp_counter::pg
