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
    {"temp_file_limit", "-1"}, // or a tick would fail for the number of rows
    {"default_transaction_read_only", "off"},
    {"transaction_read_only", "on"}, // for a view: what RESET, which asks nobody, puts it to
    {"default_transaction_isolation", "read committed"},
    {"transaction_timeout", "0"}, // the caller's statement_timeout ends it
    // What functions depend on that are IMMUTABLE: a person's value must stay the same.
    {"bytea_output", "hex"},
    {"extra_float_digits", "1"},
    {"intervalstyle", "postgres"},
    {"quote_all_identifiers", "off"},
    {"timezone_abbreviations", "Default"},
    {"xmlbinary", "base64"},
    // What counts or logs the rows, or tells where a scan has stopped.
    {"synchronize_seqscans", "off"},
    {"track_functions", "none"},
    {"track_io_timing", "off"},
    {"trace_sort", "off"},
    {"log_temp_files", "-1"},
    {"work_mem", "64MB"}, // files that sorts write show the number of rows
    {"max_parallel_workers_per_gather", "0"},
    {"compute_query_id", "off"},
    {"pg_stat_statements.track", "none"},
    {"pg_stat_monitor.pgsm_track", "none"},
    {"auto_explain.log_min_duration", "-1"},
    {"pgaudit.log_rows", "off"},
    {"pg_qualstats.enabled", "off"},
};

/// Of what the hooks for privileges log, which run for each query of a function: they may refuse.
constexpr Setting kSettingsOfRun[] = {{"pgaudit.log", "none"}, {"pgaudit.role", ""}};

bool is_there(const char* name) { // not of a module or a major that is not here
    return GetConfigOption(name, true, false) != nullptr;
}

void set(const char* name, const char* value) {
    if (is_there(name))
        SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

void set_in_nest_level(const Setting& setting) {
    if (is_there(setting.name))
        (void)set_config_option(setting.name, setting.value, PGC_SUSET, PGC_S_SESSION,
                                GUC_ACTION_SAVE, true, 0, false);
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
    set_in_nest_level({"track_counts", "off"});
    set_in_nest_level({"TimeZone", time_zone});
}

void fix_settings_of_run() {
    for (const Setting& setting : kSettingsOfRun)
        set_in_nest_level(setting);
}

} // namespace dp_counter::pg
