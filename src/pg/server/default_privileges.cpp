#include "pg/server/default_privileges.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

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

} // namespace dp_counter::pg
