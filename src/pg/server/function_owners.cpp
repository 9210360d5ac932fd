#include "pg/server/function_owners.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

Oid served_owner = InvalidOid;
needs_fmgr_hook_type next_needs_hook = nullptr;
fmgr_hook_type next_hook = nullptr;

bool is_sql(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const Oid language = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->prolang;
    ReleaseSysCache(tuple);
    return language == SQLlanguageId && function >= FirstNormalObjectId;
}

void check_function(Oid function) {
    if (!is_trusted_by(served_owner, function))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("function %s belongs to another role than the source",
                               format_procedure(function)),
                        errdetail("It would run in the session of the source's owner.")));
}

/// PostgreSQL asks this whenever it looks up a function that is not built in, also before it
/// inlines one, unless the function is SECURITY DEFINER or has settings.
bool needs_hook(Oid function) {
    check_function(function);
    return is_sql(function) || (next_needs_hook != nullptr && next_needs_hook(function));
}

/// PostgreSQL calls this before it runs one that is or has.
void before_function(FmgrHookEventType event, FmgrInfo* function, Datum* argument) {
    if (event == FHET_START)
        check_function(function->fn_oid);
    if (next_hook != nullptr)
        next_hook(event, function, argument);
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
    next_needs_hook = needs_fmgr_hook;
    needs_fmgr_hook = needs_hook;
    next_hook = fmgr_hook;
    fmgr_hook = before_function;
}

} // namespace dp_counter::pg
