// What a long tick is doing: phase and time, never how much it has read or found.
//
// pg_stat_activity shows the phase behind the statement, to those to whom it shows this role's
// statements, with state_change as the time when the phase began.
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

/// What the phases are about from here on. Outside with_progress this and show_phase do nothing.
void set_progress_subject(Oid relation);

void show_phase(const char* phase);

} // namespace dp_counter::pg
