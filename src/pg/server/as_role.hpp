// Work that runs as a role that the caller is not: as the owner of a source, for roles that may
// declare a counter over it.
//
// It runs in a security-restricted operation, as REFRESH MATERIALIZED VIEW does. It evaluates
// nothing of the role's: that takes a session of its own (src/pg/worker).
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "utils/guc.h"
}

namespace dp_counter::pg {

/// If `work` raises an error, the abort of the transaction restores settings and user.
template <class Work>
void as_role(Oid role, const Work& work) {
    Oid caller = InvalidOid;
    int security = 0;
    GetUserIdAndSecContext(&caller, &security);
    SetUserIdAndSecContext(role, security | SECURITY_RESTRICTED_OPERATION);
    const int settings = NewGUCNestLevel();
    // Names that C looks up while it parses.
    (void)set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    work();
    AtEOXact_GUC(false, settings);
    SetUserIdAndSecContext(caller, security);
}

} // namespace dp_counter::pg
