// The state of a live counter as a string of bytes, for storage.
//
// Format, version 1; all numbers little-endian:
//   4 bytes  "DPCS"            2 bytes  version
//   the request: horizon i64 (0: none), epsilon as its IEEE double, radix i32 (0: chosen),
//     mechanism u8 (255: chosen)
//   the current epoch: mechanism u8, radix i32, horizon i64
//   step, steps before the epoch, count, noise, carried noise: i64 each; carried variance: double
//   the engine's integers, i64 each: the number and order follow from the epoch's parameters
//   32 bytes BLAKE2b of all that comes before
// The length follows from public parameters alone: it tells nothing about counts or noise.
#pragma once

#include <cstddef>
#include <span>

#include "core/counter_state.hpp"

namespace dp_counter {

/// Bytes are parsed as if an enemy had written them: what is truncated, altered, of another version
/// or contradicts itself throws Error (corrupt), and nothing else can happen.
class StateCodec {
public:
    using Bytes = std::span<const unsigned char>;

    [[nodiscard]] static std::size_t encoded_bytes(const CounterState& state);

    /// Writes encoded_bytes(state) bytes to `out`.
    static void encode(CounterState& state, unsigned char* out);

    /// The plan of the state in these bytes, which tells how large a block decode() needs.
    [[nodiscard]] static Plan decode_plan(Bytes bytes);

    /// Lays the state into block, of CounterState::bytes(decode_plan(bytes)) bytes.
    static CounterState* decode(Bytes bytes, void* block);

private:
    class Reader;
    class Writer;

    static CounterState decode_head(Reader& reader);
};

} // namespace dp_counter
