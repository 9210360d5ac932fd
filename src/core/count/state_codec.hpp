// The state of a live counter as a string of bytes, for storage.
//
// Format, version 1; all numbers little-endian:
//   4 bytes  "DPCS"            2 bytes  version
//   the request: horizon i64 (0: none), epsilon as its IEEE double, radix i32 (0: chosen),
//     mechanism u8 (255: chosen)
//   the mechanism of the epoch: mechanism u8, radix i32 (0: chosen radices), horizon i64; for
//   bridge and
//     hat also the end u8 (0: level, 1: fading), lattice bits u8, levels above the steps u8, and
//     each one's radix i32, offset i32, knots i64
//   step, number of the epoch, steps before it: i64 each; noise, carried noise: i128 each;
//     variance and carried variance: double each
//   the engine's integers, i64 each: the number and order follow from the mechanism
//   32 bytes BLAKE2b of all that comes before
// The length follows from public parameters alone: it tells nothing about the noise.
//
// The mechanism is kept whole, so that a release of dp_counter that would choose another one goes
// on with this. An engine whose integers or weights change their meaning needs a new version here.
#pragma once

#include <cstddef>
#include <span>

#include "core/count/counter_state.hpp"

namespace dp_counter {

/// Bytes are parsed as if an enemy had written them: what is truncated, altered, of another version
/// or contradicts itself throws Error (corrupt), and nothing else can happen.
class StateCodec {
public:
    using Bytes = std::span<const unsigned char>;

    [[nodiscard]] static std::size_t encoded_bytes(CounterState& state);

    /// Writes encoded_bytes(state) bytes to `out`.
    static void encode(CounterState& state, unsigned char* out);

    /// The mechanism of the state in these bytes, which tells how large a block decode() needs.
    [[nodiscard]] static MechanismSpec decode_spec(Bytes bytes);

    /// Lays the state into block, of CounterState::bytes(prepared) bytes; the mechanism is
    /// decode_spec(bytes).
    static CounterState* decode(Bytes bytes, const PreparedMechanism& prepared, void* block);

private:
    class Reader;
    class Writer;

    static void write(CounterState& state, Writer& writer);
    static MechanismSpec read_spec(Reader& reader, const PrivacyUnit& unit);
    static CounterState read_public(Reader& reader);
    static void read_progress(Reader& reader, CounterState& state);
};

} // namespace dp_counter
