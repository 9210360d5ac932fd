#include <memory>

#include <sodium.h>

#include "pg/query/streams.hpp"

#include "core/count/epochs.hpp"
#include "pg/server/backend_random.hpp"
#include "pg/server/kept_in_context.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/secret_memory.hpp"
#include "pg/server/wall.hpp"

namespace dp_counter::pg {

namespace {

/// The mechanism of an epoch, or an error; good as long as `context`: the cache may forget it while
/// a stream still uses it.
const PreparedMechanism& prepare_in(MemoryContext context, const Request& request, int epoch) {
    auto& kept = room_in<std::shared_ptr<const PreparedMechanism>>(context);
    run([&] { kept = public_plans.share(request, epoch); });
    return **kept;
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

/// The noise of a release after `step` rows: of the closed epochs' totals and of the current one.
template <class Draw>
FixedPoint sample_all_noise(const Request& request, std::int64_t step, Draw&& draw) {
    FixedPoint noise = 0;
    for (int epoch = 0; epoch < epochs_begun(request.horizon, step); ++epoch) {
        const PreparedMechanism& prepared = public_plans.prepare(request, epoch);
        const std::int64_t at = steps_of_epoch(request.horizon, epoch, step);
        noise = checked_add(noise, sample_noise(prepared, at, [&](int level) {
                                return draw(prepared.sampler(level));
                            }));
    }
    return noise;
}

} // namespace

Stream open_stream(MemoryContext context, const Request& request) {
    const PreparedMechanism& prepared = prepare_in(context, request, 0);
    Stream stream{nullptr, nullptr, 0, 0, context, begin_release(request.unit)};
    open_epoch(stream, prepared);
    stream.progress = static_cast<Progress*>(allocate_secret(context, sizeof(Progress)));
    return stream;
}

void look_ahead(Stream& stream, const Request& request) {
    if (request.horizon == kUnbounded && stream.noise->is_over()) {
        ++stream.epoch;
        open_epoch(stream, prepare_in(stream.context, request, stream.epoch));
    }
    run([&] { stream.noise->look_ahead(stream.release); });
}

void raise_beyond(std::int64_t horizon) {
    run([&] { Progress::throw_beyond(horizon); });
    pg_unreachable();
}

void check_request(const Request& request) {
    run([&] { (void)public_plans.prepare(request); });
}

std::int64_t release_once(const Request& request, const Progress& progress) {
    const Release begun = begin_release(request.unit);
    const auto draw = [&](const DiscreteLaplace& sampler) {
        throw_if_interrupted(); // noise per step: as many draws as rows
        return begun.draw(sampler);
    };
    return run(
        [&] { return progress.release(rounded(sample_all_noise(request, progress.step, draw))); });
}

std::int64_t release_value(const PrivacyUnit& unit, std::int64_t value) {
    const Release begun = begin_release(unit);
    return run([&] {
        const auto sampler = public_plans.sampler(unit.scale(1));
        return saturated(static_cast<int128>(value) + begun.draw(*sampler));
    });
}

} // namespace dp_counter::pg
