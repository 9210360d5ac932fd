// What a worker does for ticks: it ticks counters over the sources of one owner, one after the
// other.
#include "pg/counters/tick_worker.hpp"

#include "pg/worker/serve.hpp"

namespace dp_counter::pg {
namespace {

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
} // namespace dp_counter::pg

DP_WORKER(dp_tick_worker) {
    dp_counter::pg::serve(main_argument, dp_counter::pg::tick_all);
}
