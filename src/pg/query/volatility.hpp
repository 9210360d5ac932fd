// The mark in the catalog that keeps a call one release.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// Raises object_not_in_prerequisite_state if the function is not marked VOLATILE: PostgreSQL may
/// then have copied the call, and every copy draws noise and spends epsilon. CREATE AGGREGATE,
/// which pg_upgrade runs again, marks every aggregate IMMUTABLE.
void check_volatile(Oid function);

/// The same for the function that is called, once a query: it keeps that in fn_extra, where nothing
/// else may be kept.
inline void check_volatile_once(FmgrInfo* function) {
    if (function->fn_extra != nullptr)
        return;
    check_volatile(function->fn_oid);
    function->fn_extra = function;
}

} // namespace dp_counter::pg
