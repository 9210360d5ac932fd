#include <algorithm>
#include <cstring>

#include "pg/worker/progress.hpp"

#include "pg/server/relations.hpp"
#include "pg/worker/job.hpp"
#include "pg/worker/serve.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
}

namespace dp_counter::pg {

namespace {

/// Of the worker, for all of its life.
char subject[2 * NAMEDATALEN * 2 + 4];

/// Of the caller: whether its row shows a phase.
bool is_shown = false;

/// Shows `text` as the running statement, with the identifier of the real one.
void show_statement(const char* text) {
    const auto identifier = pgstat_get_my_query_id();
    pgstat_report_activity(STATE_RUNNING, text);
    pgstat_report_query_id(identifier, true);
}

} // namespace

void set_progress_subject(Oid relation) {
    strlcpy(subject, quoted_name(relation), sizeof subject);
}

void show_phase(const char* phase) {
    if (!is_worker())
        return;
    char* text = psprintf("%s: %s", subject, phase);
    pgstat_report_activity(STATE_RUNNING, text);
    send(kPhase, text, strlen(text) + 1);
    pfree(text);
}

void show_phase_of_worker(const char* text) {
    if (debug_query_string == nullptr) // a background worker without a statement
        return;
    // After the statement, since monitoring recognizes statements by their beginning; clips a long
    // one.
    const int room = pgstat_track_activity_query_size - static_cast<int>(strlen(" -- ")) - 1 -
                     static_cast<int>(strlen(text));
    const int shown = pg_mbcliplen(debug_query_string, static_cast<int>(strlen(debug_query_string)),
                                   std::max(room, 0));
    char* statement = psprintf("%.*s -- %s", shown, debug_query_string, text);
    show_statement(statement);
    pfree(statement);
    is_shown = true;
}

void hide_phase() {
    if (is_worker())
        pgstat_report_activity(STATE_RUNNING, "");
    if (is_shown && debug_query_string != nullptr)
        show_statement(debug_query_string);
    is_shown = false;
}

} // namespace dp_counter::pg
