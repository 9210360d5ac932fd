// What a tick asks of a worker.
#pragma once

#include <cstddef>

#include "pg/counters/tick.hpp"

namespace dp_counter::pg {

/// The entry point of src/pg/counters/tick_worker.cpp. It answers with a Ticked for each counter.
inline constexpr const char* kTickWorker = "dp_tick_worker";

struct TickRequest {
    TickCall call;
    std::int32_t count;
    Oid counters[1]; ///< `count` of them
};

constexpr Size size_of_request(std::int32_t count) {
    return offsetof(TickRequest, counters) + sizeof(Oid) * static_cast<Size>(count);
}

} // namespace dp_counter::pg
