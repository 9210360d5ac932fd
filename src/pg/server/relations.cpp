#include "pg/server/relations.hpp"

extern "C" {
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

void check_exists(Oid relation) {
    if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("relation with OID %u does not exist", relation)));
}

} // namespace

void check_privilege(Oid relation, AclMode privilege) {
    check_exists(relation);
    const AclResult result = pg_class_aclcheck(relation, GetUserId(), privilege);
    if (result != ACLCHECK_OK)
        aclcheck_error(result, get_relkind_objtype(get_rel_relkind(relation)),
                       get_rel_name(relation));
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

void check_owner_or_privilege(Oid relation, AclMode privilege) {
    check_exists(relation);
    if (!is_owner(relation))
        check_privilege(relation, privilege);
}

char* quoted_name(Oid relation) {
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
                                      get_rel_name(relation));
}

} // namespace dp_counter::pg
