// Who is behind a call, for what is booked: in a worker the session's user is the source's owner.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// The user of the caller's session, where this process serves one.
inline Oid callers_session_role = InvalidOid;

/// The role that had connected, or that SET SESSION AUTHORIZATION named.
inline Oid session_role() {
    return OidIsValid(callers_session_role) ? callers_session_role : GetSessionUserId();
}

} // namespace dp_counter::pg
