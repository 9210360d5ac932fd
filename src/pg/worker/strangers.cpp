#include "pg/worker/strangers.hpp"

#include "pg/server/query_owners.hpp"
#include "pg/worker/settings.hpp"

extern "C" {
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "optimizer/planner.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace dp_counter::pg {

namespace {

Oid served_owner = InvalidOid;
object_access_hook_type next_access = nullptr;
needs_fmgr_hook_type next_needs_hook = nullptr;
fmgr_hook_type next_hook = nullptr;
planner_hook_type next_planner = nullptr;

void check_part(const char* part) {
    if (part != nullptr)
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("%s belongs to another role than the source", part),
                        errdetail("It would run with the rights of the source's owner."),
                        errhint("If you trust that role, grant it the role that owns the source, "
                                "or let it own the source.")));
}

// --- functions

void check_function(Oid function) {
    if (!is_trusted_by(served_owner, function))
        check_part(psprintf("function %s", format_procedure(function)));
}

bool is_sql(Oid function) {
    if (function < FirstNormalObjectId)
        return false;
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const Oid language = reinterpret_cast<const FormData_pg_proc*>(GETSTRUCT(tuple))->prolang;
    ReleaseSysCache(tuple);
    return language == SQLlanguageId;
}

/// PostgreSQL asks this whenever it looks up a function that is not built in, also before it
/// inlines one, unless the function is SECURITY DEFINER or has settings.
bool needs_hook(Oid function) {
    check_function(function);
    return is_sql(function) || (next_needs_hook != nullptr && next_needs_hook(function));
}

/// PostgreSQL calls this before and after it runs one that is or has, or needs it.
void around_function(FmgrHookEventType event, FmgrInfo* function, Datum* argument) {
    if (event == FHET_START)
        check_function(function->fn_oid);
    if (next_hook != nullptr)
        next_hook(event, function, argument);
}

extern "C" {
/// PostgreSQL calls this before it sets what the function has of settings.
static void look_at_access(ObjectAccessType access, Oid catalog, Oid object, int part,
                           void* argument) {
    if (access == OAT_FUNCTION_EXECUTE)
        check_function(object);
    if (next_access != nullptr)
        next_access(access, catalog, object, part, argument);
}
}

// --- queries

void check_query(Query* query) {
    if (is_evaluating())
        check_part(strangers_part(reinterpret_cast<Node*>(query), served_owner));
}

} // namespace

void refuse_strangers(Oid owner) {
    served_owner = owner;
    next_needs_hook = needs_fmgr_hook;
    needs_fmgr_hook = needs_hook;
    next_hook = fmgr_hook;
    fmgr_hook = around_function;
    next_access = object_access_hook;
    object_access_hook = look_at_access;
    next_planner = planner_hook;
    planner_hook = [](Query* query, auto... rest) { // of which majors have more
        check_query(query);
        return (next_planner != nullptr ? next_planner : standard_planner)(query, rest...);
    };
}

} // namespace dp_counter::pg
