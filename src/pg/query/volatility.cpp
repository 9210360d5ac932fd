#include "pg/query/volatility.hpp"

extern "C" {
#include "catalog/pg_proc.h"
}

namespace dp_counter::pg {

void check_volatile(Oid function) {
    if (func_volatile(function) != PROVOLATILE_VOLATILE)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("%s is not marked VOLATILE in the catalog", get_func_name(function)),
                        errdetail("PostgreSQL may evaluate one call more than once, and every "
                                  "evaluation is a release."),
                        errhint("After pg_upgrade, the extension's owner must run SELECT "
                                "dp_repair() in every database.")));
}

} // namespace dp_counter::pg
