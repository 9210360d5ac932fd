// What a worker does for ticks: it ticks counters over the sources of one owner, one after the
// other.
#include "pg/counters/tick_worker.hpp"

#include "pg/server/commits.hpp"
#include "pg/server/relations.hpp"
#include "pg/tables/source_counters_table.hpp"
#include "pg/worker/serve.hpp"

extern "C" {
#include "utils/snapmgr.h"
}

namespace dp_counter::pg {
namespace {

/// What other roles may know of an error at the commit, which other modules raise there: foreign
/// servers commit, too, and fire deferred triggers.
ErrorData* error_of_commit(Oid counter, ErrorData* error) {
    PushActiveSnapshot(GetTransactionSnapshot());
    const Oid source = source_of(counter);
    if (OidIsValid(source) && is_owner(source))
        tell_owner(error);
    PopActiveSnapshot();
    auto* others = static_cast<ErrorData*>(palloc0(sizeof(ErrorData)));
    others->elevel = ERROR;
    others->sqlerrcode = ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    others->assoc_context = CurrentMemoryContext;
    others->message = pstrdup("could not commit what the source was read for");
    others->hint = pstrdup("The owner of the source can run the tick to see why.");
    return others;
}

void tick_all(const char* bytes, Size /*size*/) {
    const auto* request = reinterpret_cast<const TickRequest*>(bytes);
    MemoryContext turn =
        AllocSetContextCreate(CurrentMemoryContext, "dp_counter turn", ALLOCSET_DEFAULT_SIZES);
    bool is_canceled = false; // while it waited for standbys: the call ends
    for (std::int32_t i = 0; i < request->count && !is_canceled; ++i) {
        MemoryContext worker = MemoryContextSwitchTo(turn);
        Ticked ticked{};
        ErrorData* error =
            attempt_in_worker([&] { ticked = tick_counter(request->counters[i], request->call); });
        if (error != nullptr && has_failed_to_commit())
            error = error_of_commit(request->counters[i], error);
        is_canceled = error != nullptr && error->sqlerrcode == ERRCODE_OPERATOR_INTERVENTION;
        if (error == nullptr)
            answer(&ticked, sizeof ticked);
        else
            answer_error(error);
        MemoryContextSwitchTo(worker);
        MemoryContextReset(turn);
    }
}

} // namespace

DP_WORKER(dp_tick_worker) {
    serve(main_argument, tick_all);
}

} // namespace dp_counter::pg
