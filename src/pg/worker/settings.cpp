#include <initializer_list>

#include "pg/worker/settings.hpp"

extern "C" {
#include "postmaster/bgworker.h"
}

namespace dp_counter::pg {

namespace {

struct Setting {
    const char* name;
    const char* value;
};

constexpr Setting kSettings[] = {
    {"search_path", "pg_catalog, pg_temp"}, // what the owner's functions find is up to them
    // What would leave out rows, or refuse to store what was counted.
    {"gin_fuzzy_search_limit", "0"},
    {"row_security", "on"},
    {"default_transaction_read_only", "off"},
    {"default_transaction_isolation", "read committed"},
    {"transaction_timeout", "0"}, // the caller's statement_timeout ends it
    // What counts or logs the rows.
    {"track_functions", "none"},
    {"track_io_timing", "off"},
    {"trace_sort", "off"},
    {"log_temp_files", "-1"},
    {"work_mem", "64MB"}, // files that sorts write show the number of rows
    {"max_parallel_workers_per_gather", "0"},
    {"compute_query_id", "off"},
    {"pg_stat_statements.track", "none"},
    {"auto_explain.log_min_duration", "-1"},
    {"pgaudit.log_rows", "off"},
    {"pg_qualstats.enabled", "off"},
};

void set(const char* name, const char* value) {
    if (GetConfigOption(name, true, false) != nullptr) // of a module or a major that is not here
        SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

} // namespace

void fix_settings_of_worker(int lock_timeout) {
    for (const Setting& setting : kSettings)
        set(setting.name, setting.value);
    set("lock_timeout", psprintf("%d", lock_timeout));
    set("client_min_messages", "notice");
    set("application_name", MyBgworkerEntry->bgw_name); // so that a DBA finds the session
}

void fix_settings_of_view(const char* time_zone) {
    for (const Setting& setting : {Setting{"track_counts", "off"}, Setting{"TimeZone", time_zone}})
        (void)set_config_option(setting.name, setting.value, PGC_SUSET, PGC_S_SESSION,
                                GUC_ACTION_SAVE, true, 0, false);
}

} // namespace dp_counter::pg
