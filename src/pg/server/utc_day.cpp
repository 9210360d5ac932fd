#include "pg/server/utc_day.hpp"

namespace dp_counter::pg {

const char* utc_day(TimestampTz time) {
    struct pg_tm parts {};
    fsec_t fraction = 0;
    if (timestamp2tm(time, nullptr, &parts, &fraction, nullptr, nullptr) != 0)
        elog(ERROR, "timestamp out of range");
    return psprintf("%04d-%02d-%02d", parts.tm_year, parts.tm_mon, parts.tm_mday);
}

} // namespace dp_counter::pg
