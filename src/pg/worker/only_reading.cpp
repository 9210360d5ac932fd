#include <cstring>
#include <initializer_list>

#include "pg/worker/only_reading.hpp"

#include "pg/server/postgres_api.hpp"
#include "pg/server/query_owners.hpp"
#include "pg/worker/settings.hpp"

extern "C" {
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "tcop/utility.h"
#include "utils/regproc.h"
}

namespace dp_counter::pg {

namespace {

object_access_hook_type next_access = nullptr;
ProcessUtility_hook_type next_utility = nullptr;

bool is_called(Oid function, std::initializer_list<const char*> names) {
    const char* name = get_func_name(function);
    for (const char* one : names)
        if (name != nullptr && std::strcmp(name, one) == 0)
            return true;
    return false;
}

/// The VOLATILE functions of PostgreSQL and of extensions run texts as queries, read files, tell
/// other sessions, wait or change the server: what a stranger's text would call if it ran; and
/// isn's isn_weak, which is not what it is declared to be, changes what follows. Those of roles are
/// the owner's, who has rights over them.
bool does_more_than_read(Oid function) {
    const bool is_volatile = func_volatile(function) == PROVOLATILE_VOLATILE;
    if (function < FirstNormalObjectId)
        return is_volatile
                   ? !is_called(function,
                                {"clock_timestamp", "current_query", "gen_random_uuid",
                                 "pg_lock_status", "pg_stat_clear_snapshot", "random",
                                 "random_normal", "setseed", "timeofday", "uuidv4", "uuidv7"})
                   : reads_by_name(function);
    return (is_volatile || is_called(function, {"isn_weak"})) &&
           OidIsValid(getExtensionOfObject(ProcedureRelationId, function));
}

void check_access(Oid function) {
    if (does_more_than_read(function))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("function %s cannot be called while a source is read",
                               format_procedure(function))));
}

void check_utility(Node* statement) {
    if (is_evaluating())
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("%s cannot run while a source is read",
                               GetCommandTagName(CreateCommandTag(statement)))));
}

extern "C" {
static void look_at_access(ObjectAccessType access, Oid catalog, Oid object, int part,
                           void* argument) {
    if (access == OAT_FUNCTION_EXECUTE && is_evaluating())
        check_access(object);
    if (next_access != nullptr)
        next_access(access, catalog, object, part, argument);
}

static void look_at_utility(PlannedStmt* statement, const char* text, bool keeps_tree,
                            ProcessUtilityContext context, ParamListInfo bound,
                            QueryEnvironment* environment, DestReceiver* receiver,
                            QueryCompletion* completion) {
    check_utility(statement->utilityStmt);
    (next_utility != nullptr ? next_utility : standard_ProcessUtility)(
        statement, text, keeps_tree, context, bound, environment, receiver, completion);
}
}

} // namespace

void refuse_all_but_reading() {
    next_access = object_access_hook;
    object_access_hook = look_at_access;
    next_utility = ProcessUtility_hook;
    ProcessUtility_hook = look_at_utility;
}

} // namespace dp_counter::pg
