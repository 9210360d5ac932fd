// How an aggregate was called, and whether that can be private.
#pragma once

#include <new>

#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// What an aggregate's releases look like.
enum class AggregateUse {
    group,  ///< GROUP BY: one release, after the last row
    window, ///< OVER: a release for every row's frame
};

/// Which windows an aggregate may run over.
enum class FrameRule {
    growing, ///< starts at UNBOUNDED PRECEDING, ends the same for rows that tie: rows enter and
             ///< stay
    whole,   ///< is the whole partition
};

/// Checks the context of a transition or final function; once a query is enough. Raises
/// object_not_in_prerequisite_state if the aggregate is not marked VOLATILE (volatility.hpp) and
/// feature_not_supported, with a hint, for what would break the guarantee: FILTER and DISTINCT
/// (rows that do not advance time), grouping sets (the same rows in several releases), frames that
/// PostgreSQL evaluates by restarting the state (fresh noise over data already released) or that a
/// single release cannot serve, or that end between rows that tie (their order is the plan's choice
/// and may be sorted by the bit).
[[nodiscard]] AggregateUse check_aggregate_context(FunctionCallInfo fcinfo, FrameRule rule);

/// Raises feature_not_supported for a window whose frame, as PostgreSQL's FRAMEOPTION_ bits have
/// it, does not start at UNBOUNDED PRECEDING, or that has EXCLUDE.
void check_frame_grows(int frame);

/// The result of `open`, which is called once per query.
template <class Call, Call (*open)(FunctionCallInfo)>
[[nodiscard]] const Call* once(FunctionCallInfo fcinfo) {
    FmgrInfo* function = fcinfo->flinfo;
    if (function->fn_extra == nullptr) {
        const Call call = open(fcinfo);
        function->fn_extra = new (MemoryContextAlloc(function->fn_mcxt, sizeof call)) Call(call);
    }
    return static_cast<const Call*>(function->fn_extra);
}

/// The memory that lives as long as the state of this call. The context has been checked.
[[nodiscard]] MemoryContext state_memory(FunctionCallInfo fcinfo);

/// Raises feature_not_supported if rows of this window have already been aggregated: PostgreSQL
/// started a state anew inside a partition.
void check_first_state(FunctionCallInfo fcinfo);

} // namespace dp_counter::pg
