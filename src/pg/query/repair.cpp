// Marks all functions that draw noise VOLATILE: at installation, and again after pg_upgrade.
#include <initializer_list>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {
namespace {

/// Every aggregate does; CREATE AGGREGATE, which has no clause for volatility, marks it IMMUTABLE.
bool draws_noise(Form_pg_proc function) {
    if (function->prokind == PROKIND_AGGREGATE)
        return true;
    for (const char* name : {"dp_running_count", "dp_running_sum", "dp_laplace"})
        if (strcmp(NameStr(function->proname), name) == 0)
            return true;
    return false;
}

/// Returns whether the function draws noise and had lost the mark.
bool mark_volatile(Relation functions, Oid function) {
    HeapTuple tuple = SearchSysCacheCopy1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for function %u", function);
    auto* row = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool lost = draws_noise(row) && row->provolatile != PROVOLATILE_VOLATILE;
    if (lost) {
        row->provolatile = PROVOLATILE_VOLATILE;
        CatalogTupleUpdate(functions, &tuple->t_self, tuple);
    }
    heap_freetuple(tuple);
    return lost;
}

/// Marks the functions of the extension, and returns how many had lost the mark.
int64 repair(Oid extension) {
    int64 repaired = 0;
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(ExtensionRelationId));
    ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(extension));
    Relation functions = table_open(ProcedureRelationId, RowExclusiveLock);
    Relation dependencies = table_open(DependRelationId, AccessShareLock);
    SysScanDesc scan =
        systable_beginscan(dependencies, DependReferenceIndexId, true, nullptr, 2, keys);
    HeapTuple tuple = nullptr;
    while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
        const auto* member = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
        if (member->deptype == DEPENDENCY_EXTENSION && member->classid == ProcedureRelationId &&
            mark_volatile(functions, member->objid))
            ++repaired;
    }
    systable_endscan(scan);
    table_close(dependencies, AccessShareLock);
    table_close(functions, RowExclusiveLock);
    return repaired;
}

} // namespace

/// Members of the extension's owner, which need not be superusers, may call it. It changes nothing
/// else.
DP_FUNCTION(dp_repair) {
    PreventCommandIfReadOnly("dp_repair()");
    const Oid extension = get_extension_oid("dp_counter", false);
#if PG_VERSION_NUM >= 160000
    const bool owns = object_ownercheck(ExtensionRelationId, extension, GetUserId());
#else
    const bool owns = pg_extension_ownercheck(extension, GetUserId());
#endif
    if (!owns)
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_EXTENSION, "dp_counter");
    PG_RETURN_INT64(repair(extension));
}

} // namespace dp_counter::pg
