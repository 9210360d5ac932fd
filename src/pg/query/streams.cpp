#include <memory>
#include <new>
#include <optional>

#include <sodium.h>

#include "pg/query/streams.hpp"

#include "core/count/epochs.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"

namespace dp_counter::pg {

constinit MechanismCache backend_plans;

namespace {

/// A mechanism that lives as long as a memory context: the cache may forget it while a stream still
/// uses it.
struct Kept {
    MemoryContextCallback callback;
    std::shared_ptr<const PreparedMechanism> mechanism;
};

extern "C" void forget_kept(void* argument) {
    std::destroy_at(static_cast<Kept*>(argument));
}

/// The mechanism of an epoch, or an error; good as long as `context`.
const PreparedMechanism& prepare_in(MemoryContext context, const Parameters& parameters,
                                    std::int64_t horizon, int epoch) {
    Kept* kept = new (MemoryContextAlloc(context, sizeof(Kept))) Kept{};
    kept->callback.func = forget_kept;
    kept->callback.arg = kept;
    MemoryContextRegisterResetCallback(context, &kept->callback); // before there is what to forget
    Failure failure;
    if (!guarded(failure, [&] {
            kept->mechanism = backend_plans.share(to_request(parameters, horizon), epoch);
        }))
        failure.raise();
    return *kept->mechanism;
}

/// The mechanism of an epoch, or an error; good until the next call.
const PreparedMechanism& prepare(const Parameters& parameters, std::int64_t horizon, int epoch) {
    Failure failure;
    const PreparedMechanism* prepared = nullptr;
    if (!guarded(failure, [&] {
            prepared = &backend_plans.prepare(to_request(parameters, horizon), epoch);
        }))
        failure.raise();
    return *prepared;
}

/// Gives the stream a block for its epoch. The one before stays in its context, wiped, until that
/// is reset: epochs grow, so all of them together are hardly more than the last.
void open_epoch(Stream& stream, const PreparedMechanism& prepared) {
    const std::size_t bytes = NoiseStream::bytes(prepared);
    void* block = allocate_secret(stream.context, bytes);
    NoiseStream* const previous = stream.noise;
    if (previous == nullptr) {
        stream.noise = NoiseStream::create(block, prepared);
    } else {
        stream.noise = NoiseStream::create_next(block, prepared, *previous);
        sodium_memzero(previous, stream.bytes);
    }
    stream.bytes = bytes;
}

/// The unit of a single release, or an error.
PrivacyUnit unit_of(double epsilon, std::int64_t sensitivity) {
    Failure failure;
    std::optional<PrivacyUnit> unit;
    if (!guarded(failure, [&] {
            unit.emplace(Epsilon(epsilon), sensitivity);
            unit->require_scale(1);
        }))
        failure.raise();
    return *unit;
}

/// The noise of a release after `step` rows: of the closed epochs' totals and of the current one.
template <class Draw>
FixedPoint sample_all_noise(const Request& request, std::int64_t step, Draw&& draw) {
    FixedPoint noise = 0;
    for (int epoch = 0; epoch < epochs_begun(request.horizon, step); ++epoch) {
        const PreparedMechanism& prepared = backend_plans.prepare(request, epoch);
        const std::int64_t at = steps_of_epoch(request.horizon, epoch, step);
        noise = checked_add(noise, sample_noise(prepared, at, [&](int level) {
                                return draw(prepared.sampler(level));
                            }));
    }
    return noise;
}

} // namespace

Stream open_stream(MemoryContext context, const Parameters& parameters, std::int64_t horizon) {
    const PreparedMechanism& prepared = prepare_in(context, parameters, horizon, 0);
    Stream stream{nullptr, nullptr, 0, horizon, 0, context, begin_release(prepared.spec().unit)};
    open_epoch(stream, prepared);
    stream.progress = static_cast<Progress*>(allocate_secret(context, sizeof(Progress)));
    return stream;
}

void look_ahead(Stream& stream, const Parameters& parameters) {
    if (stream.horizon == kUnbounded && stream.noise->is_over()) {
        ++stream.epoch;
        open_epoch(stream, prepare_in(stream.context, parameters, stream.horizon, stream.epoch));
    }
    Failure failure;
    if (!guarded(failure, [&] { stream.noise->look_ahead(stream.release); }))
        failure.raise();
}

void raise_beyond(std::int64_t horizon) {
    Failure failure;
    (void)guarded(failure, [&] { Progress::throw_beyond(horizon); });
    failure.raise();
}

void check_parameters(const Parameters& parameters, std::int64_t horizon) {
    (void)prepare(parameters, horizon, 0);
}

std::int64_t release_once(const Parameters& parameters, std::int64_t horizon,
                          const Progress& progress) {
    const Release begun = begin_release(prepare(parameters, horizon, 0).spec().unit);
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const auto draw = [&](const DiscreteLaplace& sampler) {
                throw_if_interrupted(); // noise per step: as many draws as rows
                return begun.draw(sampler);
            };
            release = progress.release(
                rounded(sample_all_noise(to_request(parameters, horizon), progress.step, draw)));
        }))
        failure.raise();
    return release;
}

void check_epsilon(double epsilon) {
    (void)unit_of(epsilon, 1);
}

std::int64_t release_value(double epsilon, std::int64_t sensitivity, std::int64_t value) {
    const Release begun = begin_release(unit_of(epsilon, sensitivity));
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const auto sampler = backend_plans.sampler(begun.unit().scale(1));
            release = saturated(static_cast<int128>(value) + begun.draw(*sampler));
        }))
        failure.raise();
    return release;
}

} // namespace dp_counter::pg
