#include "core/count/noise_stream.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "core/base/alignment.hpp"

namespace dp_counter {

void Progress::throw_beyond(std::int64_t horizon) {
    throw Error(Fault::data, "more rows than the horizon of " + std::to_string(horizon),
                "Declare a horizon that is at least the number of rows of every partition.");
}

std::size_t NoiseStream::bytes(const PreparedMechanism& prepared) noexcept {
    std::size_t total = align_up(sizeof(NoiseStream), kAlignment);
    for (int level = 0; level < prepared.spec().scales(); ++level)
        total += align_up(DiscreteLaplace::bytes(prepared.spec().scale(level)), kAlignment);
    return total + NoiseEngine::bytes(prepared);
}

NoiseStream* NoiseStream::create(void* block, const PreparedMechanism& prepared) noexcept {
    const MechanismSpec& spec = prepared.spec();
    auto* stream = new (block) NoiseStream;
    stream->next_ = kAhead;
    stream->drawn_ = 0;
    stream->end_ = spec.horizon;
    stream->carried_ = 0;
    stream->noise_ = 0;
    std::size_t offset = align_up(sizeof(NoiseStream), kAlignment);
    for (int level = 0; level < spec.scales(); ++level) {
        const DiscreteLaplace& sampler = prepared.sampler(level);
        std::memcpy(stream->at<void>(offset), static_cast<const void*>(&sampler), sampler.bytes());
        stream->sampler_[level] = static_cast<std::uint32_t>(offset);
        offset += align_up(sampler.bytes(), kAlignment);
    }
    stream->engine_ = offset;
    NoiseEngine::create(stream->at<void>(offset), prepared);
    return stream;
}

NoiseStream* NoiseStream::create_next(void* block, const PreparedMechanism& prepared,
                                      const NoiseStream& previous) noexcept {
    NoiseStream* stream = create(block, prepared);
    stream->drawn_ = previous.drawn_;
    stream->end_ = previous.end_ + prepared.spec().horizon; // epochs end at kMaxHorizon
    stream->carried_ = previous.noise_;
    stream->noise_ = previous.noise_;
    return stream;
}

void NoiseStream::look_ahead(const Release& release) {
    const std::int64_t step = drawn_;
    if (step == end_)
        Progress::throw_beyond(end_);
    const auto draw = [&](int level) {
        return release.draw(*at<const DiscreteLaplace>(sampler_[level]));
    };
    NoiseEngine& engine = *at<NoiseEngine>(engine_);
    FixedPoint noise = 0;
    // As many as have passed: a short stream shall not draw for rows that never come.
    const auto rows = std::min(std::clamp<std::int64_t>(step, 8, kAhead), end_ - step);
    const std::size_t first = kAhead - static_cast<std::size_t>(rows);
    for (std::size_t i = first; i < kAhead; ++i) {
        noise = checked_add(carried_, engine.advance(draw));
        ahead_[i] = rounded(noise);
    }
    noise_ = noise;
    drawn_ += rows;
    next_ = first; // not before all is drawn: a throw must leave no row ready without noise
}

} // namespace dp_counter
