#include <cmath>

#include "core/accuracy/release_interval.hpp"
#include "core/base/checkpoint.hpp"
#include "core/count/anchored_state.hpp"

#include "pg/steps/anchored.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"
#include "pg/steps/stored_state.hpp"

namespace dp_counter::pg {

namespace {

/// Public values alone. It outlives the functions below, since errors that PostgreSQL raises in
/// them would pass over a destructor.
SamplerCache::Sampler anchors;

struct varlena* store(MemoryContext context, const AnchoredState& state, CounterState* increments) {
    struct varlena* stored = allocate_stored(context, AnchoredState::bytes(increments));
    state.encode(increments, reinterpret_cast<unsigned char*>(VARDATA(stored)));
    return stored;
}

AnchoredState* allocate_state(MemoryContext context) {
    return static_cast<AnchoredState*>(allocate_secret(context, sizeof(AnchoredState)));
}

/// The errors of a stock; those of another stream of the same counter are the same.
void set_error(const AnchoredLaw& law, std::int64_t step, std::int64_t stock,
               ClosedRelease& closed) {
    if (closed.release.step != step)
        closed = {{step, 0, std::sqrt(public_forecast.variance_at(law, step, 0))},
                  public_forecast.half_width(law, step, kReleaseConfidence)};
    closed.release.count = stock;
}

} // namespace

struct varlena* new_anchored_state(MemoryContext context, const AnchoredLaw& law) {
    run([&] { (void)prepare(make_mechanism(law.increments())); });
    return store(context, *allocate_state(context), nullptr);
}

struct varlena* release_anchored(MemoryContext context, const AnchoredLaw& law,
                                 const struct varlena* stored, std::int64_t steps,
                                 const int128* stocks, std::int64_t count,
                                 ClosedRelease* releases) {
    const Request request = run([&] {
        anchors = public_plans.sampler(law.anchor());
        return law.increments();
    });
    const Release of_anchors = begin_release(law.unit);
    const Release of_nodes = begin_release(request.unit);
    AnchoredState* state = allocate_state(context);
    const PreparedMechanism* prepared = nullptr; // of the stream of increments
    CounterState* increments = nullptr;          // null: no noise of this block to keep
    const StateCodec::Bytes rest = run([&] {
        const StateCodec::Bytes bytes = state->decode(bytes_of(stored), law);
        check_step(state->step, steps);
        return bytes;
    });
    if (!rest.empty()) {
        const StateCodec::Public of_stream = run([&] { return StateCodec::decode_public(rest); });
        prepared = run([&] { return &prepare(of_stream.spec); });
        void* block = allocate_secret(context, CounterState::bytes(*prepared));
        run([&] {
            increments = StateCodec::decode(of_stream, *prepared, block);
            state->check_increments(law, *increments);
        });
    }
    for (std::int64_t closed = 0; closed < count;) { // up to where a stream begins
        CHECK_FOR_INTERRUPTS();
        if (state->begins_increments(law)) {
            prepared = run([&] { return &prepare(make_mechanism(request)); });
            void* block = allocate_secret(context, CounterState::bytes(*prepared));
            increments = CounterState::create(block, request, *prepared);
        }
        run([&] {
            const auto draw_anchor = [&] { return of_anchors.draw(*anchors); };
            const auto draw = [&](int level) { return of_nodes.draw(prepared->sampler(level)); };
            do {
                checkpoint();
                const std::int64_t noise =
                    state->advance(law, increments, prepared, draw_anchor, draw);
                if (releases != nullptr)
                    set_error(law, state->step, saturated(stocks[closed] + noise),
                              releases[closed]);
            } while (++closed < count && !state->begins_increments(law));
        });
    }
    return store(context, *state, state->has_increments(law) ? increments : nullptr);
}

AnchoredLaw anchored_law_of(const CounterRow& row) {
    const PrivacyUnit unit = privacy_of(row);
    return run([&] { return AnchoredLaw(unit, row.block); });
}

struct varlena* later_anchored_state(MemoryContext context, const CounterRow& row) {
    const AnchoredLaw law = anchored_law_of(row);
    AnchoredState* state = allocate_state(context); // where the block begins
    state->step = row.steps - row.steps % row.block;
    return release_anchored(context, law, store(context, *state, nullptr), state->step, nullptr,
                            row.steps - state->step, nullptr);
}

} // namespace dp_counter::pg
