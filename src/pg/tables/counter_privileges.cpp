#include <algorithm>

#include "pg/tables/counter_privileges.hpp"

#include "pg/tables/counters_table.hpp"

extern "C" {
#include "utils/inval.h"
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

namespace {

/// Counters that this backend has seen, so that it need not look for every event. A counter ends
/// with its view, which PostgreSQL announces.
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

void check_is_counter(Oid releases) {
    Oid& known = known_counters[releases % kKnown];
    if (known == releases)
        return;
    if (is_counter(releases))
        known = releases;
    else
        ereport(
            ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE),
             errmsg("\"%s\" is not a counter", get_rel_name(releases)),
             errhint("The view dp_counters lists the counters; dp_counter_create creates one.")));
}

void check_counter_privilege(Oid releases, AclMode privilege) {
    check_privilege(releases, privilege);
    check_is_counter(releases);
}

void check_counter_owner(Oid releases) {
    check_owner(releases);
    check_is_counter(releases);
}

} // namespace dp_counter::pg
