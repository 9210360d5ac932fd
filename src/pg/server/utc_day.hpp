// The day of a time, for sentences.
#pragma once

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// As 2026-01-31, in UTC, whatever the session's zone and date style are.
[[nodiscard]] const char* utc_day(TimestampTz time);

} // namespace dp_counter::pg
