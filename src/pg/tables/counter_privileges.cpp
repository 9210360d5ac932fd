#include "pg/tables/counter_privileges.hpp"

#include "pg/server/relations.hpp"
#include "pg/tables/counters_table.hpp"

extern "C" {
#include "utils/lsyscache.h"
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

} // namespace dp_counter::pg
