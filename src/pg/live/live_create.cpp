// dp_counter_create: a new counter and the view of its releases.
#include <cstdint>

#include "pg/live/counters_table.hpp"
#include "pg/live/events_table.hpp"
#include "pg/live/public_view.hpp"
#include "pg/live/releases_table.hpp"
#include "pg/live/stored_state.hpp"
#include "pg/live/streams_table.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {
namespace {

/// Of dp_counter_private.published, that every counter's view has.
constexpr ViewColumn kReleaseColumns[] = {
    {"step", "bigint", "step"},   {"released_at", "timestamp with time zone", "released_at"},
    {"count", "bigint", "count"}, {"stddev", "double precision", "stddev"},
    {"low", "bigint", "low"},     {"high", "bigint", "high"},
};

enum ArgumentIndex { kReleases, kEpsilon, kHorizon, kK, kMechanism };

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_create) {
    using namespace dp_counter;
    using namespace dp_counter::pg;
    if (PG_ARGISNULL(kReleases))
        ereport(ERROR,
                (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("releases must not be null"),
                 errhint("Give the name of the view to be made.")));
    const Request request = read_request({.epsilon = fcinfo->args[kEpsilon],
                                          .horizon = fcinfo->args[kHorizon],
                                          .k = fcinfo->args[kK],
                                          .mechanism = fcinfo->args[kMechanism]});
    const StoredState state = new_state(CurrentMemoryContext, request);
    const std::int32_t number = next_counter_number();
    const Oid releases = create_view_of(PG_GETARG_TEXT_PP(kReleases), "published", number,
                                        kReleaseColumns, lengthof(kReleaseColumns));
    insert_counter(releases, number, request, state.spec);
    insert_streams(number, 1, state.bytes);
    insert_publication(number);
    create_event_slots(releases);
    PG_RETURN_OID(releases);
}
