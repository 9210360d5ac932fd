#include <iterator>
#include <optional>

#include "core/base/checkpoint.hpp"

#include "pg/steps/stored_state.hpp"

#include "pg/server/backend_random.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"

namespace dp_counter::pg {

namespace {

/// Mechanisms, public values alone. They outlive the functions below, since errors that PostgreSQL
/// raises in them would pass over destructors.
std::optional<PreparedMechanism> mechanisms[13]; ///< found by the horizon

/// A stream at step 0, with the mechanism of this epoch.
CounterState* new_epoch(MemoryContext context, const Request& request, int epoch) {
    const PreparedMechanism* prepared =
        run([&] { return &prepare(make_mechanism(request, epoch)); });
    void* block = allocate_secret(context, CounterState::bytes(*prepared));
    return CounterState::create(block, request, *prepared);
}

StoredState store(MemoryContext context, CounterState* state) {
    struct varlena* stored = allocate_stored(context, StateCodec::encoded_bytes(*state));
    StateCodec::encode(*state, reinterpret_cast<unsigned char*>(VARDATA(stored)));
    return {stored, state->spec(), state->request()};
}

/// The release of a step. Where `closed` holds that of another stream of the same counter at the
/// same step, its error bar is as wide.
void close_step(const Request& request, const StepNoise& noise, int128 total,
                ClosedRelease& closed) {
    const CounterRelease release = noise.release(total);
    const bool is_known =
        closed.release.step == release.step && closed.release.stddev == release.stddev;
    const std::int64_t width =
        is_known ? closed.width : release_width(public_forecast.errors(request), release);
    closed = {release, width};
}

} // namespace

const PreparedMechanism& prepare(const MechanismSpec& spec) {
    auto& known = mechanisms[static_cast<std::uint64_t>(spec.horizon) % std::size(mechanisms)];
    if (!known || !(known->spec() == spec))
        known.emplace(spec);
    return *known;
}

struct varlena* allocate_stored(MemoryContext context, std::size_t bytes) {
    auto* stored = static_cast<struct varlena*>(allocate_secret(context, VARHDRSZ + bytes));
    SET_VARSIZE(stored, VARHDRSZ + bytes);
    return stored;
}

StateCodec::Bytes bytes_of(const struct varlena* stored) {
    return {reinterpret_cast<const unsigned char*>(VARDATA(stored)), VARSIZE(stored) - VARHDRSZ};
}

StoredState new_state(MemoryContext context, const Request& request) {
    return store(context, new_epoch(context, request, 0));
}

std::size_t state_bytes(MemoryContext context, const Request& request, int epoch) {
    return StateCodec::encoded_bytes(*new_epoch(context, request, epoch));
}

StoredState later_state(MemoryContext context, const struct varlena* other, std::int64_t steps) {
    const Request request = run([&] { return StateCodec::decode_public(bytes_of(other)).request; });
    const StoredState first = new_state(context, request);
    return steps == 0 ? first : close_steps(context, first.bytes, 0, nullptr, steps, nullptr);
}

void check_step(std::int64_t stored, std::int64_t steps) {
    if (stored != steps)
        throw Error(Fault::corrupt, "the stored state of the counter does not match its last step",
                    "Restore the extension's tables from a backup, or drop the counter.");
}

StoredState close_steps(MemoryContext context, const struct varlena* stored, std::int64_t steps,
                        const int128* totals, std::int64_t count, ClosedRelease* releases) {
    const auto known = run([&] { return StateCodec::decode_public(bytes_of(stored)); });
    const PreparedMechanism* prepared = run([&] { return &prepare(known.spec); });
    const Release release = begin_release(prepared->spec().unit);
    void* block = allocate_secret(context, CounterState::bytes(*prepared));
    CounterState* state = run([&] {
        CounterState* decoded = StateCodec::decode(known, *prepared, block);
        check_step(decoded->step(), steps);
        return decoded;
    });

    for (std::int64_t closed = 0; closed < count;) {
        CHECK_FOR_INTERRUPTS();
        bool is_epoch_over = false;
        run([&] {
            const auto draw = [&](int level) { return release.draw(prepared->sampler(level)); };
            for (; closed < count && !is_epoch_over; checkpoint()) {
                const std::optional<MechanismSpec> next = state->next_epoch();
                is_epoch_over = next.has_value();
                if (is_epoch_over) {
                    prepared = &prepare(*next);
                } else {
                    const StepNoise noise = state->advance(*prepared, draw);
                    if (releases != nullptr)
                        close_step(state->request(), noise, totals[closed], releases[closed]);
                    ++closed;
                }
            }
        });
        if (is_epoch_over) {
            block = allocate_secret(context, CounterState::bytes(*prepared));
            state = CounterState::open_epoch(block, *prepared, *state);
        }
    }
    return store(context, state);
}

ShareInterval share_of_totals(const Request& request, const CounterRelease& above,
                              const CounterRelease& below) {
    return run([&] {
        if (is_planned(public_forecast.errors(request), above))
            return public_forecast.share_interval(request, above.count, below.count, above.step,
                                                  kReleaseConfidence);
        return normal_share(above, below);
    });
}

} // namespace dp_counter::pg
