#include <sodium.h>

#include "pg/query/streams.hpp"

#include "core/count/epochs.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"

namespace dp_counter::pg {

constinit MechanismCache backend_plans;

namespace {

/// Gives the stream a block for its epoch. The one before stays in its context, wiped, until that
/// is reset: epochs grow, so all of them together are hardly more than the last.
void open_epoch(Stream& stream, const Parameters& parameters) {
    Failure failure;
    const PreparedMechanism* prepared = nullptr;
    std::size_t bytes = 0;
    if (!guarded(failure, [&] {
            prepared = &backend_plans.prepare(to_request(parameters, stream.horizon), stream.epoch);
            bytes = NoiseStream::bytes(*prepared);
        }))
        failure.raise();
    void* block = allocate_secret(stream.context, bytes);
    NoiseStream* const previous = stream.noise;
    if (previous == nullptr) {
        stream.noise = NoiseStream::create(block, *prepared);
    } else {
        stream.noise = NoiseStream::create_next(block, *prepared, *previous);
        sodium_memzero(previous, stream.bytes);
    }
    stream.bytes = bytes;
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
    Stream stream{nullptr, nullptr, 0, horizon, 0, context};
    open_epoch(stream, parameters);
    stream.progress = static_cast<Progress*>(allocate_secret(context, sizeof(Progress)));
    return stream;
}

void look_ahead(Stream& stream, const Parameters& parameters) {
    if (stream.horizon == kUnbounded && stream.noise->is_over()) {
        ++stream.epoch;
        open_epoch(stream, parameters);
    }
    RandomSource& random = backend_random();
    Failure failure;
    if (!guarded(failure, [&] { stream.noise->look_ahead(random); }))
        failure.raise();
}

void raise_beyond(std::int64_t horizon) {
    Failure failure;
    (void)guarded(failure, [&] { Progress::throw_beyond(horizon); });
    failure.raise();
}

void check_parameters(const Parameters& parameters, std::int64_t horizon) {
    Failure failure;
    if (!guarded(failure, [&] { (void)backend_plans.prepare(to_request(parameters, horizon)); }))
        failure.raise();
}

std::int64_t release_once(const Parameters& parameters, std::int64_t horizon,
                          const Progress& progress) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const auto draw = [&](const DiscreteLaplace& sampler) {
                throw_if_interrupted(); // noise per step: as many draws as rows
                return sampler.draw(random);
            };
            release = progress.release(
                rounded(sample_all_noise(to_request(parameters, horizon), progress.step, draw)));
        }))
        failure.raise();
    return release;
}

void check_epsilon(double epsilon) {
    Failure failure;
    if (!guarded(failure, [&] { (void)Epsilon(epsilon); }))
        failure.raise();
}

std::int64_t release_value(double epsilon, std::int64_t sensitivity, std::int64_t value) {
    RandomSource& random = backend_random();
    Failure failure;
    std::int64_t release = 0;
    if (!guarded(failure, [&] {
            const PrivacyUnit unit(Epsilon(epsilon), sensitivity);
            unit.require_scale(1);
            const auto sampler = backend_plans.sampler(unit.scale(1));
            release = saturated(static_cast<int128>(value) + sampler->draw(random));
        }))
        failure.raise();
    return release;
}

} // namespace dp_counter::pg
