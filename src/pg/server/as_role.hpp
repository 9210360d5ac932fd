// Work that runs as a role that the caller is not: as the owner of a source, for roles that may
// tick or declare.
//
// It runs in a security-restricted operation, as REFRESH MATERIALIZED VIEW does. Settings that
// could change what it does, or that would count or log rows, have fixed values. What a session's
// temporary objects could change is left to the caller: has_temporary_objects.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "miscadmin.h"
#include "utils/guc.h"
}

namespace dp_counter::pg {

/// Whether the session has ever made one. Names that are not qualified find them, whatever the
/// search path is.
[[nodiscard]] bool has_temporary_objects();

/// Fixes the settings until the GUC nest level ends. A null time zone stays the caller's; a quiet
/// client gets errors alone.
void fix_settings(const char* time_zone, bool is_quiet);

/// If `work` raises an error, the abort of the transaction restores settings and user.
template <class Work>
void as_role(Oid role, const char* time_zone, bool is_quiet, const Work& work) {
    Oid caller = InvalidOid;
    int security = 0;
    GetUserIdAndSecContext(&caller, &security);
    SetUserIdAndSecContext(role, security | SECURITY_RESTRICTED_OPERATION);
    const int settings = NewGUCNestLevel();
    fix_settings(time_zone, is_quiet);
    work();
    AtEOXact_GUC(false, settings);
    SetUserIdAndSecContext(caller, security);
}

} // namespace dp_counter::pg
