#include "pg/tables/counter_privileges.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace dp_counter::pg {

bool check_is_counter(Oid counter) {
    const std::optional<bool> ended = find_ended(counter);
    if (!ended)
        ereport(
            ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE),
             errmsg("\"%s\" is not a counter", name_of_relation(counter)),
             errhint("The view dp_counters lists the counters; dp_counter_create creates one.")));
    return *ended;
}

void check_counter_privilege(Oid counter, AclMode privilege) {
    check_privilege(counter, privilege);
    (void)check_is_counter(counter);
}

void check_counter_owner(Oid counter) {
    check_owner(counter);
    (void)check_is_counter(counter);
}

std::optional<OpenCounter> lock_own_counter(Oid view, LOCKMODE mode) {
    LockRelationOid(view, mode);
    check_counter_owner(view);
    const auto found = lock_counter(view);
    check_owner(view);
    return found;
}

} // namespace dp_counter::pg
