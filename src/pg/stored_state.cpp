#include <span>

#include "core/discrete_laplace.hpp"
#include "core/state_codec.hpp"

#include "pg/stored_state.hpp"

#include "pg/backend_random.hpp"
#include "pg/secret_memory.hpp"
#include "pg/wall.hpp"

namespace dp_counter::pg {

namespace {

StateCodec::Bytes bytes_of(const struct varlena* stored) {
    return {reinterpret_cast<const unsigned char*>(VARDATA(stored)), VARSIZE(stored) - VARHDRSZ};
}

StoredState store(MemoryContext context, CounterState* state) {
    const std::size_t size = VARHDRSZ + StateCodec::encoded_bytes(*state);
    auto* stored = static_cast<struct varlena*>(allocate_secret(context, size));
    SET_VARSIZE(stored, size);
    StateCodec::encode(*state, reinterpret_cast<unsigned char*>(VARDATA(stored)));
    return {stored, state->plan()};
}

} // namespace

StoredState new_state(MemoryContext context, const Parameters& parameters,
                      CounterRequest& request) {
    Failure failure;
    std::optional<Plan> plan;
    if (!guarded(failure, [&] {
            const Request asked = to_request(parameters, parameters.horizon);
            request = {asked.horizon, asked.epsilon, asked.radix, asked.mechanism};
            plan = CounterState::first_plan(request);
            (void)DiscreteLaplace(plan->scale()); // throws where the scale is too large
        }))
        failure.raise();
    void* block = allocate_secret(context, CounterState::bytes(*plan));
    return store(context, CounterState::create(block, request, *plan));
}

StoredState close_step(MemoryContext context, const struct varlena* bytes, std::int64_t steps,
                       std::int64_t total, CounterRelease& release) {
    RandomSource& random = backend_random();
    Failure failure;
    std::optional<Plan> plan;
    if (!guarded(failure, [&] { plan = StateCodec::decode_plan(bytes_of(bytes)); }))
        failure.raise();

    void* block = allocate_secret(context, CounterState::bytes(*plan));
    CounterState* state = nullptr;
    std::optional<Plan> next;
    if (!guarded(failure, [&] {
            state = StateCodec::decode(bytes_of(bytes), block);
            if (state->step() != steps)
                throw Error(Fault::corrupt,
                            "the stored state is not that of the counter's last step",
                            "Restore the extension's tables from a backup, or drop the counter.");
            next = state->next_epoch();
        }))
        failure.raise();

    if (next) {
        block = allocate_secret(context, CounterState::bytes(*next));
        state = CounterState::open_epoch(block, *next, *state);
    }
    if (!guarded(failure, [&] {
            const DiscreteLaplace sampler(state->plan().scale());
            release = state->advance(total, [&] { return sampler.draw(random); });
        }))
        failure.raise();
    return store(context, state);
}

} // namespace dp_counter::pg
