#include <algorithm>
#include <cstring>

#include "pg/server/progress.hpp"

#include "pg/server/relations.hpp"

extern "C" {
#include "mb/pg_wchar.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
}

namespace dp_counter::pg {

namespace {

constexpr int kNoticeMilliseconds = 10000;

/// Of this backend. It outlives transactions, and so has memory of its own.
struct Progress {
    bool is_open;
    TimestampTz begin;
    const char* phase; ///< null before the first one
    char subject[512];
};
Progress progress;

TimeoutId timer = MAX_TIMEOUTS; ///< registered when first wanted

extern "C" {
static void on_timer() {
    is_notice_due = 1;
}
}

/// Shows a statement as the one that runs. The identifier that the real one has stays.
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
    progress = {true, GetCurrentTimestamp(), nullptr, {}};
    is_notice_due = 0;
}

void set_progress_subject(Oid relation, bool is_own) {
    if (!progress.is_open)
        return;
    snprintf(progress.subject, sizeof progress.subject, "%s", quoted_name(relation));
    if (!is_own)
        return;
    if (timer == MAX_TIMEOUTS)
        timer = RegisterTimeout(USER_TIMEOUT, on_timer);
    if (!get_timeout_active(timer))
        enable_timeout_after(timer, kNoticeMilliseconds);
}

void show_phase(const char* phase) {
    if (!progress.is_open)
        return;
    progress.phase = phase;
    if (debug_query_string == nullptr) // a background worker that tells nothing either
        return;
    // Behind the statement, as monitoring knows statements by how they begin; a long one is
    // clipped.
    char* comment = psprintf(" -- %s: %s", progress.subject, phase);
    const int room = pgstat_track_activity_query_size - 1 - static_cast<int>(strlen(comment));
    const int shown = pg_mbcliplen(debug_query_string, static_cast<int>(strlen(debug_query_string)),
                                   std::max(room, 0));
    char* text = psprintf("%.*s%s", shown, debug_query_string, comment);
    show_statement(text);
    pfree(text);
    pfree(comment);
}

bool is_progress_told() {
    return timer != MAX_TIMEOUTS && get_timeout_active(timer);
}

void tell_phase() {
    is_notice_due = 0;
    if (!progress.is_open || progress.phase == nullptr)
        return;
    enable_timeout_after(timer, kNoticeMilliseconds);
    ereport(NOTICE, (errmsg("%s: %s, %lld s", progress.subject, progress.phase,
                            static_cast<long long>((GetCurrentTimestamp() - progress.begin) /
                                                   USECS_PER_SEC))));
}

void end_progress() {
    if (is_progress_told())
        disable_timeout(timer, false);
    is_notice_due = 0;
    if (progress.phase != nullptr && debug_query_string != nullptr)
        show_statement(debug_query_string);
    progress.is_open = false;
}

} // namespace dp_counter::pg
