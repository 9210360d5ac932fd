// What a long tick is doing: phase and time, never how much it has read or found.
//
// pg_stat_activity shows the phase behind the statement, to those to whom it shows this role's
// statements, with state_change as the time when the phase began. The owner of a source who waits
// for it hears of the phase every 10 seconds as well.
#pragma once

#include <csignal>

#include "pg/server/postgres_api.hpp"

extern "C" {
#include "miscadmin.h"
}

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

/// What the phases are about from here on, and whether the source is the caller's own. Outside
/// with_progress this and show_phase do nothing.
void set_progress_subject(Oid relation, bool is_own);

void show_phase(const char* phase);

/// Whether anybody is to hear of the phases.
[[nodiscard]] bool is_progress_told();

inline volatile std::sig_atomic_t is_notice_due = 0;

void tell_phase();

/// For loops that are long: CHECK_FOR_INTERRUPTS, and the notice that is due.
inline void check_progress() {
    CHECK_FOR_INTERRUPTS();
    if (is_notice_due != 0) [[unlikely]]
        tell_phase();
}

} // namespace dp_counter::pg
