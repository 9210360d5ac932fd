// Streams in PostgreSQL's memory: from parameters to a ready state.
#pragma once

#include "core/count/noise_stream.hpp"
#include "core/noise/release.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/postgres_api.hpp"

namespace dp_counter::pg {

/// A running count and its noise in secret memory of one context, with what later epochs need.
struct Stream {
    NoiseStream* noise;
    Progress* progress;
    std::size_t bytes; ///< of the block at `noise`
    std::int32_t epoch;
    MemoryContext context;
    Release release;
};

/// A stream at step 0, in secret memory of `context`. Raises a PostgreSQL error for a request out
/// of range.
[[nodiscard]] Stream open_stream(MemoryContext context, const Request& request);

/// Makes the stream ready for the next row, in its next epoch if it has to be; raises a PostgreSQL
/// error beyond the horizon. `request` is that which opened the stream.
void look_ahead(Stream& stream, const Request& request);

/// Takes in one row, a bit or a number, and returns its release; raises as look_ahead() does.
[[nodiscard]] inline std::int64_t advance(Stream& stream, const Request& request,
                                          std::int64_t addend) {
    if (!stream.noise->is_ready()) [[unlikely]]
        look_ahead(stream, request);
    stream.progress->record(addend);
    return stream.progress->release(stream.noise->take());
}

/// Raises data_exception: the horizon has been reached.
[[noreturn]] void raise_beyond(std::int64_t horizon);

/// Checks the request as open_stream does.
void check_request(const Request& request);

/// The release after `progress.step` rows of a stream that was not read before: its noise is that
/// of the last step alone (sample_noise, noise_stream.hpp).
[[nodiscard]] std::int64_t release_once(const Request& request, const Progress& progress);

/// value + discrete Laplace noise of scale sensitivity/epsilon, saturated to 64 bits.
[[nodiscard]] std::int64_t release_value(const PrivacyUnit& unit, std::int64_t value);

} // namespace dp_counter::pg
