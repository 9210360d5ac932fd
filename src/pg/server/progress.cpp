#include <algorithm>
#include <cstring>

#include "pg/server/progress.hpp"

#include "pg/server/relations.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
}

namespace dp_counter::pg {

namespace {

/// Of this backend. Static, since it outlives transactions.
struct Progress {
    bool is_open;
    const char* phase; ///< null before the first one
    char subject[512];
};
Progress progress;

/// Shows `text` as the running statement, with the identifier of the real one.
void show_statement(const char* text) {
#if PG_VERSION_NUM >= 140000
    const auto identifier = pgstat_get_my_query_id();
    pgstat_report_activity(STATE_RUNNING, text);
    pgstat_report_query_id(identifier, true);
#else
    pgstat_report_activity(STATE_RUNNING, text);
#endif
}

} // namespace

void begin_progress() {
    progress = {true, nullptr, {}};
}

void set_progress_subject(Oid relation) {
    if (progress.is_open)
        snprintf(progress.subject, sizeof progress.subject, "%s", quoted_name(relation));
}

void show_phase(const char* phase) {
    if (!progress.is_open)
        return;
    progress.phase = phase;
    if (debug_query_string == nullptr) // a background worker without a statement
        return;
    // After the statement, since monitoring recognizes statements by their beginning; clips a long
    // one.
    char* comment = psprintf(" -- %s: %s", progress.subject, phase);
    const int room = pgstat_track_activity_query_size - 1 - static_cast<int>(strlen(comment));
    const int shown = pg_mbcliplen(debug_query_string, static_cast<int>(strlen(debug_query_string)),
                                   std::max(room, 0));
    char* text = psprintf("%.*s%s", shown, debug_query_string, comment);
    show_statement(text);
    pfree(text);
    pfree(comment);
}

void end_progress() {
    if (progress.phase != nullptr && debug_query_string != nullptr)
        show_statement(debug_query_string);
    progress.is_open = false;
}

} // namespace dp_counter::pg
