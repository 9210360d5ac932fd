// dp_counter_create: a new counter and the view of its releases.
#include <cstdint>

#include "pg/events/event_counter.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/sources/source_counter.hpp"
#include "pg/steps/stored_state.hpp"
#include "pg/tables/counters_table.hpp"
#include "pg/tables/public_view.hpp"
#include "pg/tables/releases_table.hpp"
#include "pg/tables/streams_table.hpp"

extern "C" {
#include "miscadmin.h"
}

namespace dp_counter::pg {
namespace {

/// Of dp_counter_private.published, that every counter's view has.
constexpr ViewColumn kReleaseColumns[] = {
    {"step", "bigint", "step"},   {"released_at", "timestamp with time zone", "released_at"},
    {"count", "bigint", "count"}, {"stddev", "double precision", "stddev"},
    {"low", "bigint", "low"},     {"high", "bigint", "high"},
};
constexpr int kMostColumns = 2 + lengthof(kReleaseColumns);

enum ArgumentIndex {
    kReleases,
    kEpsilon,
    kHorizon,
    kK,
    kMechanism,
    kSource,
    kEvent,
    kValue,
    kUpper,
    kPerPerson,
    kBy,
    kGroups,
    kEvery,
    kSince,
    kGrace
};

SourceArguments source_arguments(FunctionCallInfo fcinfo) {
    const NullableDatum* args = fcinfo->args;
    return {args[kSource], args[kEvent],  args[kValue], args[kUpper], args[kPerPerson],
            args[kBy],     args[kGroups], args[kEvery], args[kSince], args[kGrace]};
}

Oid create_view(text* name, std::int32_t number, const SourceDeclaration* source) {
    ViewColumn columns[kMostColumns];
    int count = 0;
    if (source != nullptr)
        for (int i = 0; i < source->column_count; ++i)
            columns[count++] = source->columns[i];
    for (const ViewColumn& column : kReleaseColumns)
        columns[count++] = column;
    return create_view_of(name, "published", number, columns, count,
                          source != nullptr ? source->row.source : InvalidOid);
}

} // namespace
} // namespace dp_counter::pg

DP_FUNCTION(dp_counter_create) {
    using namespace dp_counter;
    using namespace dp_counter::pg;
    check_not_null(fcinfo->args[kReleases], "releases", "Give the name of the view to be made.");
    PreventCommandIfReadOnly("dp_counter_create()");
    Numeric epsilon = read_decimal_epsilon(fcinfo->args[kEpsilon]);
    const SourceArguments arguments = source_arguments(fcinfo);
    SourceDeclaration declared{};
    const SourceDeclaration* source = nullptr;
    std::int64_t sensitivity = 1;
    if (arguments.source.isnull) {
        check_without_source(arguments);
    } else {
        declared = read_declaration(arguments, fcinfo->args[kHorizon]);
        sensitivity = sensitivity_of(declared);
        source = &declared;
    }
    const Request request =
        read_request({.epsilon = {Float8GetDatum(mechanism_epsilon(epsilon)), false},
                      .sensitivity = {Int64GetDatum(sensitivity), false},
                      .horizon = fcinfo->args[kHorizon],
                      .k = fcinfo->args[kK],
                      .mechanism = fcinfo->args[kMechanism]});
    const StoredState state = new_state(CurrentMemoryContext, request);
    const std::int32_t number = next_counter_number();
    const Oid releases = create_view(PG_GETARG_TEXT_PP(kReleases), number, source);
    insert_counter(releases, number, epsilon, request, state.spec);
    insert_streams(number, source != nullptr ? source->streams : 1, state.bytes);
    insert_publication(number);
    if (source != nullptr)
        declare_source_counter(releases, number, epsilon, *source);
    else
        declare_event_counter(releases);
    PG_RETURN_OID(releases);
}
