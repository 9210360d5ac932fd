#include "pg/tables/counter_privileges.hpp"

#include "pg/tables/counters_table.hpp"

extern "C" {
#include "utils/lsyscache.h"
}

namespace dp_counter::pg {

void check_is_counter(Oid counter) {
    if (!is_counter(counter))
        ereport(
            ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE),
             errmsg("\"%s\" is not a counter", get_rel_name(counter)),
             errhint("The view dp_counters lists the counters; dp_counter_create creates one.")));
}

void check_counter_privilege(Oid counter, AclMode privilege) {
    check_privilege(counter, privilege);
    check_is_counter(counter);
}

void check_counter_owner(Oid counter) {
    check_owner(counter);
    check_is_counter(counter);
}

} // namespace dp_counter::pg
