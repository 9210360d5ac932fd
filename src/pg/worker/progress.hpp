// Shows what a long call is doing: the phase and when it began, never how much it has read.
//
// The worker sends it to its caller, whose row of pg_stat_activity shows the phase after the
// statement, to roles that may see this role's statements; state_change is the time when the phase
// began.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// In the worker: the relation that is shown with the phases from here on.
void set_progress_subject(Oid relation);

/// In the worker: sends the caller the phase. Does nothing in other sessions.
void show_phase(const char* phase);

/// In the caller: shows the phase that the worker has sent.
void show_phase_of_worker(const char* text);

/// In both, after an answer: shows no phase, and the caller's statement as it was.
void hide_phase();

} // namespace dp_counter::pg
