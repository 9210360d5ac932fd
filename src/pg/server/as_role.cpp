#include "pg/server/as_role.hpp"

extern "C" {
#include "catalog/namespace.h"
}

namespace dp_counter::pg {

namespace {

struct Setting {
    const char* name;
    const char* value;
};

/// Settings that would otherwise be the caller's. Each has a test that changes it, or a reason
/// here.
constexpr Setting kSettings[] = {
    // What accepted functions read.
    {"search_path", "pg_catalog, pg_temp"}, // || in textanycat, of older majors; what C looks up
    {"DateStyle", "ISO, YMD"},
    {"IntervalStyle", "postgres"},
    {"timezone_abbreviations", "Default"},
    {"lc_time", "C"}, // names of days and months, to_char(at, 'TMDay'): tests have no second locale
    {"extra_float_digits", "1"},
    {"bytea_output", "hex"},
    {"quote_all_identifiers", "off"},
    // What would leave out rows, or fail.
    {"gin_fuzzy_search_limit", "0"},
    {"row_security", "on"},
    // By which the planner would evaluate CHECK constraints.
    {"constraint_exclusion", "off"},
    // What counts or logs the rows.
    {"track_functions", "none"},
    {"trace_sort", "off"},
    {"log_temp_files", "-1"},
    {"auto_explain.log_min_duration", "-1"},
    {"work_mem", "64MB"}, // files that sorts write show the number of rows
};

void set(const char* name, const char* value) {
    if (GetConfigOption(name, true, false) == nullptr)
        return;
    (void)set_config_option(name, value, PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

} // namespace

bool has_temporary_objects() {
    Oid schema = InvalidOid;
    Oid toast_schema = InvalidOid;
    GetTempNamespaceState(&schema, &toast_schema);
    return OidIsValid(schema);
}

void fix_settings(const char* time_zone, bool is_quiet) {
    for (const Setting& setting : kSettings)
        set(setting.name, setting.value);
    if (time_zone != nullptr)
        set("TimeZone", time_zone);
    if (is_quiet)
        set("client_min_messages", "error");
}

} // namespace dp_counter::pg
