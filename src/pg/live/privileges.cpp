#include <algorithm>

#include "pg/live/privileges.hpp"

#include "pg/live/counters_table.hpp"

extern "C" {
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

void check_exists(Oid releases) {
    if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(releases)))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("relation with OID %u does not exist", releases)));
}

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

void check_privilege(Oid releases, AclMode privilege) {
    check_exists(releases);
    const AclResult result = pg_class_aclcheck(releases, GetUserId(), privilege);
    if (result != ACLCHECK_OK)
        aclcheck_error(result, get_relkind_objtype(get_rel_relkind(releases)),
                       get_rel_name(releases));
}

void check_is_counter(Oid releases) {
    Oid& known = known_counters[releases % kKnown];
    if (known == releases)
        return;
    if (is_counter(releases))
        known = releases;
    else
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not a counter", get_rel_name(releases)),
                        errhint("dp_counter_create makes counters; the view dp_counters lists "
                                "them.")));
}

void check_counter_privilege(Oid releases, AclMode privilege) {
    check_privilege(releases, privilege);
    check_is_counter(releases);
}

bool is_owner(Oid relation) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation, GetUserId());
#else
    return pg_class_ownercheck(relation, GetUserId());
#endif
}

void check_owner(Oid relation) {
    check_exists(relation);
    if (!is_owner(relation))
        aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)),
                       get_rel_name(relation));
}

void check_counter_owner(Oid releases) {
    check_owner(releases);
    check_is_counter(releases);
}

char* quoted_name(Oid releases) {
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(releases)),
                                      get_rel_name(releases));
}

} // namespace dp_counter::pg
