#include "core/count/noise_stream.hpp"

#include <algorithm>
#include <new>
#include <string>

namespace dp_counter {

void Progress::throw_beyond(std::int64_t horizon) {
    throw Error(Fault::data, "more rows than the horizon of " + std::to_string(horizon),
                "Use a horizon of at least the number of rows of every partition, or NULL, which "
                "sets no limit.");
}

NoiseStream* NoiseStream::create(void* block, const PreparedMechanism& prepared) noexcept {
    auto* stream = new (block) NoiseStream;
    stream->end_ = prepared.spec().horizon;
    stream->prepared_ = &prepared;
    NoiseEngine::create(&stream->engine(), prepared);
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
    const PreparedMechanism& prepared = *prepared_;
    const DiscreteLaplace& lowest = prepared.sampler(0); // serves nearly all draws
    const auto draw = [&](int scale) {
        return release.draw(scale == 0 ? lowest : prepared.sampler(scale));
    };
    FixedPoint noise = 0;
    // Half as many as have passed, of those whose nodes are drawn: a short stream shall not draw
    // for rows that never come.
    auto rows = std::min(std::clamp<std::int64_t>(step / 2, kLeastAhead, kAhead), end_ - step);
    if (const std::int64_t drawn = engine().steps_drawn(); drawn > 0 && rows < std::int64_t{kAhead})
        rows = std::min(rows, drawn);
    const std::size_t first = kAhead - static_cast<std::size_t>(rows);
    for (std::size_t i = first; i < kAhead; ++i) {
        noise = checked_add(carried_, engine().advance(prepared, draw));
        ahead_[i] = rounded(noise);
    }
    noise_ = noise;
    drawn_ += rows;
    next_ = first; // not before all is drawn: a throw must leave no row ready without noise
}

} // namespace dp_counter
