#include "pg/server/relations.hpp"

#include "pg/server/plain_names.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "utils/fmgrprotos.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

[[noreturn]] void raise_no_relation(Oid relation) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("relation with OID %u does not exist", relation)));
}

} // namespace

void check_exists(Oid relation) {
    if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
        raise_no_relation(relation);
}

bool is_view(Oid relation) {
    return get_rel_relkind(relation) == RELKIND_VIEW;
}

void check_privilege(Oid relation, AclMode privilege) {
    check_exists(relation);
    if (pg_class_aclcheck(relation, GetUserId(), privilege) != ACLCHECK_OK)
        raise_denied(relation);
}

void raise_denied(Oid relation) {
    aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relation)),
                   name_of_relation(relation));
    pg_unreachable();
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
                       name_of_relation(relation));
}

void check_owner_or_privilege(Oid relation, AclMode privilege) {
    check_exists(relation);
    if (!is_owner_or_may(relation, privilege))
        raise_denied(relation);
}

bool is_owner_or_may(Oid relation, AclMode privilege) {
    return is_owner(relation) || pg_class_aclcheck(relation, GetUserId(), privilege) == ACLCHECK_OK;
}

bool may_create_in(Oid schema, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(NamespaceRelationId, schema, role, ACL_CREATE) == ACLCHECK_OK;
#else
    return pg_namespace_aclcheck(schema, role, ACL_CREATE) == ACLCHECK_OK;
#endif
}

Oid owner_of(Oid relation) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(tuple))
        raise_no_relation(relation);
    const Oid owner = reinterpret_cast<const FormData_pg_class*>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    return owner;
}

char* name_of_relation(Oid relation) {
    char* name = get_rel_name(relation);
    if (name == nullptr)
        raise_no_relation(relation);
    return name;
}

char* quoted_name(Oid relation) {
    check_exists(relation);
    char* name = nullptr;
    with_plain_names([&] {
        name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)),
                                          get_rel_name(relation));
    });
    return name;
}

const char* quoted_schema_of_function(Oid function) {
    const char* schema = get_namespace_name(get_func_namespace(function));
    if (schema == nullptr)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                        errmsg("the function was dropped meanwhile")));
    return quote_identifier(schema);
}

char* shown_name(Oid relation) {
    return DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(relation)));
}

} // namespace dp_counter::pg
