#include "pg/server/place.hpp"

extern "C" {
#include "access/xlog.h"
}

namespace dp_counter::pg {

Place this_place() {
    const TimeLineID timeline = GetWALInsertionTimeLine();
    return {static_cast<std::int64_t>(GetSystemIdentifier()), MyDatabaseId,
            static_cast<std::int32_t>(timeline)};
}

bool is_here(const Place& place) {
    return place == this_place();
}

} // namespace dp_counter::pg
