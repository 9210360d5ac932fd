#include "audit/core_streams.hpp"

#include <memory>

#include "core/count/epochs.hpp"
#include "core/count/noise_stream.hpp"
#include "unit/support.hpp"

namespace dp_counter::test {

namespace {

/// The plan for the epsilon that it carries.
PreparedMechanism prepare(MechanismSpec spec, double noise) {
    spec.unit.epsilon = Epsilon(spec.unit.epsilon.value() / noise);
    return PreparedMechanism(spec);
}

} // namespace

Mechanics::Mechanics(const Request& request, std::int64_t steps, double noise) : steps_(steps) {
    if (request.horizon != kUnbounded) {
        epochs_.push_back(prepare(make_mechanism(request), noise));
        return;
    }
    for (int epoch = 0; epoch <= epoch_of(steps); ++epoch)
        epochs_.push_back(prepare(make_mechanism(request, epoch), noise));
}

Releases Mechanics::release(const std::vector<bool>& bits, const std::vector<std::int64_t>& watched,
                            std::size_t runs, RandomSource& random) const {
    std::vector<Block> blocks;
    for (const PreparedMechanism& epoch : epochs_)
        blocks.push_back(block_of(NoiseStream::bytes(epoch)));
    const Release begun(spec().unit, random);
    Releases releases(watched);
    releases.reserve(runs);
    for (std::size_t run = 0; run < runs; ++run) {
        NoiseStream* stream = NoiseStream::create(blocks[0].get(), epochs_[0]);
        Progress progress{};
        std::size_t epoch = 0;
        auto wanted = watched.begin();
        for (std::size_t t = 1; t <= bits.size() && wanted != watched.end(); ++t) {
            if (stream->is_over()) {
                ++epoch;
                stream = NoiseStream::create_next(blocks[epoch].get(), epochs_[epoch], *stream);
            }
            progress.record(bits[t - 1]);
            const std::int64_t release = progress.release(stream->advance(begun));
            if (static_cast<std::int64_t>(t) == *wanted) {
                releases.add(release);
                ++wanted;
            }
        }
    }
    return releases;
}

} // namespace dp_counter::test
