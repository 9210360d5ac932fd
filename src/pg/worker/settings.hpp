// Settings of a worker: those that keep it quiet, and those without which it would not do what it
// promises.
#pragma once

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "access/xact.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/portal.h"
}

namespace dp_counter::pg {

/// Once, when it is connected; `lock_timeout` is the caller's, in ms.
void fix_settings_of_worker(int lock_timeout);

/// Those that last while the view is evaluated, until the GUC nest level ends.
void fix_settings_of_view(const char* time_zone);

/// From here on, until then: functions of the view run queries of their own, once for each row.
void fix_settings_of_run();

/// Whether a view is evaluated, within as_owner.
inline bool is_evaluating() {
    return XactReadOnly;
}

/// Runs `work`, which evaluates a view, as the owner: in a security-restricted operation as REFRESH
/// MATERIALIZED VIEW does, read only, while the cumulative statistics stand still. Messages of the
/// view reach the caller only if `is_heard`. A cursor that a function leaves open ends with it: the
/// commit would run the rest of one that is pinned, as the caller. If `work` raises an error, the
/// abort of the transaction restores all but whereToSendOutput, which recover_in_worker does.
template <class Work>
void as_owner(Oid owner, const char* time_zone, bool is_heard, const Work& work) {
    Oid caller = InvalidOid;
    int security = 0;
    GetUserIdAndSecContext(&caller, &security);
    SetUserIdAndSecContext(owner, security | SECURITY_RESTRICTED_OPERATION);
    const int level = NewGUCNestLevel();
    fix_settings_of_view(time_zone);
    const CommandDest heard = whereToSendOutput;
    if (!is_heard)
        whereToSendOutput = DestNone; // client_min_messages does not hold back INFO
    XactReadOnly = true; // what the work itself stores goes by direct access, which does not ask
    work();
    PortalHashTableDeleteAll(); // raises an error for one that is pinned
    AtEOXact_GUC(false, level); // may put XactReadOnly back to true
    XactReadOnly = false;
    whereToSendOutput = heard;
    SetUserIdAndSecContext(caller, security);
}

} // namespace dp_counter::pg
