#include "pg/worker/function_owners.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

Oid served_owner = InvalidOid;
needs_fmgr_hook_type next_hook = nullptr;

/// PostgreSQL asks this whenever it looks up a function that is not built in, also before it
/// inlines one.
bool check_function(Oid function) {
    if (!is_trusted_by(served_owner, function))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("function %s belongs to another role than the source",
                               format_procedure(function)),
                        errdetail("It would run with the rights of the source's owner.")));
    return next_hook != nullptr && next_hook(function);
}

} // namespace

bool is_trusted_by(Oid role, Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return true; // its caller raises
    const Oid owner = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->proowner;
    ReleaseSysCache(tuple);
    return has_privs_of_role(owner, role);
}

void refuse_functions_of_strangers(Oid owner) {
    served_owner = owner;
    next_hook = needs_fmgr_hook;
    needs_fmgr_hook = check_function;
}

} // namespace dp_counter::pg
