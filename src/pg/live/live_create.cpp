// dp_counter_create: a new counter and the view of its releases.
#include <cstdint>

#include "pg/live/counters_table.hpp"
#include "pg/live/events_table.hpp"
#include "pg/live/public_view.hpp"
#include "pg/live/stored_state.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {
namespace {

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
    const Oid releases = create_view_of(PG_GETARG_TEXT_PP(kReleases), "published", number);
    insert_counter(releases, number, request, state.spec, state.bytes);
    create_event_slots(releases);
    PG_RETURN_OID(releases);
}
