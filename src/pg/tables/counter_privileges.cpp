#include <algorithm>

#include "pg/tables/counter_privileges.hpp"

#include "pg/tables/counters_table.hpp"

extern "C" {
#include "utils/inval.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

namespace {

/// Counters that this backend knows, which saves a lookup for every event. A counter ends with its
/// view, whose invalidation removes it here.
constexpr int kKnown = 16;
Oid known_counters[kKnown]; // found by the OID

void forget_counter(Datum /*argument*/, Oid relation) {
    if (!OidIsValid(relation))
        std::fill_n(known_counters, kKnown, InvalidOid);
    else if (known_counters[relation % kKnown] == relation)
        known_counters[relation % kKnown] = InvalidOid;
}

} // namespace

void initialize_known_counters() {
    CacheRegisterRelcacheCallback(forget_counter, 0);
}

void check_is_counter(Oid counter) {
    Oid& known = known_counters[counter % kKnown];
    if (known == counter)
        return;
    if (is_counter(counter))
        known = counter;
    else
        ereport(
            ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE),
             errmsg("\"%s\" is not a counter", get_rel_name(counter)),
             errhint("The view dp_counters lists the counters; dp_counter_create creates one.")));
}

void check_counter_privilege(Oid counter, AclMode privilege) {
    check_privilege(counter, privilege);
    check_is_counter(counter);
}

void check_counter_owner(Oid counter) {
    check_owner(counter);
    check_is_counter(counter);
}

} // namespace dp_counter::pg
