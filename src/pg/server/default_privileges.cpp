#include "pg/server/default_privileges.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {
namespace {

/// The statements that give each object of the extension the privileges that PostgreSQL itself
/// gives to a new one. They are in the order of the last column.
constexpr const char* kStatements = R"(
WITH objects AS (
    SELECT kind || ' ' || (pg_identify_object(classid, objid, 0)).identity AS object, kind,
           owner, acl
    FROM pg_depend
         JOIN (SELECT 'pg_class'::regclass, oid, relowner, relacl, relkind = 'S',
                      CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END FROM pg_class
               UNION ALL
               SELECT 'pg_proc'::regclass, oid, proowner, proacl, false, 'ROUTINE' FROM pg_proc
               UNION ALL
               SELECT 'pg_type'::regclass, oid, typowner, typacl, false, 'TYPE' FROM pg_type
               WHERE typtype = 'b' AND typcategory <> 'A'
               UNION ALL
               SELECT 'pg_namespace'::regclass, oid, nspowner, nspacl, false, 'SCHEMA'
               FROM pg_namespace)
         AS o (class, oid, owner, acl, is_sequence, kind) ON class = classid AND oid = objid
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
          AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_counter')
          AND acl <> acldefault(CASE kind WHEN 'SEQUENCE' THEN 's' WHEN 'TABLE' THEN 'r'
                                          WHEN 'ROUTINE' THEN 'f' WHEN 'TYPE' THEN 'T'
                                          ELSE 'n' END::"char", owner)
)
SELECT DISTINCT format('REVOKE ALL ON %s FROM %s CASCADE', object,
                       CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END),
       1 AS place
FROM objects, aclexplode(acl) WHERE grantee <> owner
UNION ALL SELECT format('GRANT ALL ON %s TO %s', object, owner::regrole), 2 FROM objects
UNION ALL SELECT format('GRANT ALL ON %s TO PUBLIC', object), 3 FROM objects
WHERE kind IN ('ROUTINE', 'TYPE')
ORDER BY place)";

void execute(const char* sql, bool is_read, int expected) {
    if (SPI_execute(sql, is_read, 0) != expected)
        elog(ERROR, "could not execute \"%s\"", sql);
}

} // namespace

void revoke_default_privileges(Oid relation) {
    HeapTuple row = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relation));
    bool is_null = true;
    const Oid owner = reinterpret_cast<const FormData_pg_class*>(GETSTRUCT(row))->relowner;
    const Datum stored = SysCacheGetAttr(RELOID, row, Anum_pg_class_relacl, &is_null);
    const Acl* acl = is_null ? nullptr : DatumGetAclPCopy(stored);
    for (int i = 0; acl != nullptr && i < ACL_NUM(acl); ++i) {
        const Oid role = ACL_DAT(acl)[i].ai_grantee;
        if (role == owner)
            continue;
        RemoveRoleFromObjectACL(role, RelationRelationId, relation);
        CommandCounterIncrement();
    }
}

/// For the install script alone.
DP_FUNCTION(dp_counter_reset_privileges) {
    if (!creating_extension)
        elog(ERROR, "reset_privileges is for the install script");
    SPI_connect();
    execute(kStatements, true, SPI_OK_SELECT);
    SPITupleTable* statements = SPI_tuptable;
    for (uint64 i = 0; i < statements->numvals; ++i)
        execute(SPI_getvalue(statements->vals[i], statements->tupdesc, 1), false, SPI_OK_UTILITY);
    SPI_finish();
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
