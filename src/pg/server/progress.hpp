// Shows what a long tick is doing: the phase and when it began, never how much it has read.
//
// pg_stat_activity shows the phase after the statement, to roles that may see this role's
// statements; state_change is the time when the phase began.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

void begin_progress();
void end_progress();

/// Shows the phases of `work`, which may raise and may commit, and then the statement as it was.
template <class Work>
void with_progress(const Work& work) {
    begin_progress();
    PG_TRY();
    { work(); }
    PG_FINALLY();
    { end_progress(); }
    PG_END_TRY();
}

/// Sets the relation that is shown with the phases from here on. Outside with_progress this and
/// show_phase do nothing.
void set_progress_subject(Oid relation);

void show_phase(const char* phase);

} // namespace dp_counter::pg
