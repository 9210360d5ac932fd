// The state of a live counter as a string of bytes, for storage.
//
// Format, version 1. Numbers are little-endian two's complement of the size that the type says, f64
// is an IEEE double; byte, type, content:
//     0  4 bytes  "DPCS"
//     4  u16      version: 1
//   the request:
//     6  i64      horizon; 0: none
//    14  f64      epsilon
//    22  i64      sensitivity
//    30  i32      radix (k); 0: chosen
//    34  u8       mechanism: 0 subtraction, 1 plain, 2 hat; 255: chosen
//   the mechanism of the epoch (of the counter, where it has a horizon):
//    35  u8       mechanism, as above
//    36  i32      radix; 0: that of each level is its own
//    40  i64      horizon: steps of the epoch
//   only where that is a hat:
//    48  u8       end: 0 level, 1 fading
//    49  u8       lattice bits
//    50  u8       levels above the steps; 0: noise per step
//    51           for each of them 16 bytes: radix i32, offset i32, knots i64
//   from here on after these, at P = 48, or 51 + 16 * levels:
//     P  i64      step
//   + 8  i64      number of the epoch
//   +16  i64      steps before the epoch
//   +24  i128     noise of the last release, in units of 2^-64
//   +40  i128     noise of the last release before the epoch, likewise
//   +56  f64      variance of the former
//   +64  f64      variance of the latter
//   +72           the engine's integers, i64 each
//   at the end:
//        32 bytes BLAKE2b-256 of all that comes before
//
// The engine's integers, levels from the steps up, with -s the lowest digit (plain: s = 0):
//   trees: the sum of the live nodes; for each level its digit, the sum of its nodes, and but for
//     the top level s nodes to be subtracted (0: none)
//   hat: the step; of settled_, held_ and slope_ (hat_noise.hpp) the upper and then the
//     lower 64 bits; for each level above the steps the 6 knots of its window, the partial knot,
//     cell, tick, ticks, head, tail, and the children that wait, as many as its queue has room for
//
// The length depends on public parameters alone, so it reveals nothing about the noise. The
// mechanism is stored whole, so that a release of dp_counter that would choose another one goes on
// with this. An engine whose integers or weights change their meaning needs a new version here;
// test/unit/data/states-1.txt has states of this one.
#pragma once

#include <cstddef>
#include <span>

#include "core/count/byte_codec.hpp"
#include "core/count/counter_state.hpp"

namespace dp_counter {

/// Bytes are parsed as if an attacker had written them: what is truncated, altered, inconsistent or
/// of another version throws Error (corrupt), and nothing else can happen.
class StateCodec {
public:
    using Bytes = std::span<const unsigned char>;

    [[nodiscard]] static std::size_t encoded_bytes(CounterState& state);

    /// Writes encoded_bytes(state) bytes to `out`.
    static void encode(CounterState& state, unsigned char* out);

    /// What is public in a state: what was asked for when the counter was created, and the
    /// mechanism of the epoch, which determines how large a block decode() needs.
    struct Public {
        Request request;
        MechanismSpec spec;
        Bytes progress; ///< the rest, not parsed: secret
    };
    [[nodiscard]] static Public decode_public(Bytes bytes);

    /// Lays the state into block, of CounterState::bytes(prepared) bytes; the mechanism is
    /// stored.spec.
    static CounterState* decode(const Public& stored, const PreparedMechanism& prepared,
                                void* block);

private:
    static void write(CounterState& state, ByteWriter& writer);
    static void read_progress(ByteReader& reader, CounterState& state);
};

} // namespace dp_counter
