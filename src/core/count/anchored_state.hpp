// The stream of a counter with anchored noise, and its state as a string of bytes.
//
// Format, version 1; numbers are little-endian:
//     0  4 bytes  "DPAS"
//     4  u16      version: 1
//     6  i64      step
//    14  i64      noise of the anchor of the block that the next step is in; 0 where it begins one
//    22           the state of the block's increments (state_codec.hpp), once one was taken
//   at the end:
//        32 bytes BLAKE2b-256 of all that comes before
//
// The length depends on public parameters and the step alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/checked.hpp"
#include "core/count/anchored_law.hpp"
#include "core/count/counter_state.hpp"
#include "core/count/state_codec.hpp"

namespace dp_counter {

/// Trivial; all zero at step 0. The noise of a block begins with its first step, and is gone after
/// its last one.
struct AnchoredState {
    std::int64_t step;
    std::int64_t anchor; ///< noise; secret

    /// Whether a stream of increments goes on with the next step; else it is null, or begins.
    [[nodiscard]] bool has_increments(const AnchoredLaw& law) const noexcept {
        return step % law.block > 1;
    }
    /// Whether the next step is its first one.
    [[nodiscard]] bool begins_increments(const AnchoredLaw& law) const noexcept {
        return step % law.block == 1;
    }

    /// The noise of the next step. `increments` is the stream of the block, at step 0 where it
    /// begins; null at an anchor. draw_anchor() gives noise of law.anchor(), draw(scale) of a node
    /// of the stream. Throws as CounterState::advance does.
    template <class DrawAnchor, class Draw>
    [[nodiscard]] std::int64_t advance(const AnchoredLaw& law, CounterState* increments,
                                       const PreparedMechanism* prepared, DrawAnchor&& draw_anchor,
                                       Draw&& draw) {
        std::int64_t noise = 0;
        if (step % law.block == 0)
            noise = anchor = draw_anchor();
        else
            noise = checked_add(anchor, increments->advance(*prepared, draw).noise);
        ++step;
        if (step % law.block == 0)
            anchor = 0;
        return noise;
    }

    /// Bytes that encode() writes; `increments` is null where there are none to keep.
    [[nodiscard]] static std::size_t bytes(CounterState* increments);
    void encode(CounterState* increments, unsigned char* out) const;

    /// Reads a state, and returns the bytes of its increments, or none. They are parsed as if an
    /// attacker had written them: throws Error (corrupt) for any that encode() does not write.
    [[nodiscard]] StateCodec::Bytes decode(StateCodec::Bytes bytes, const AnchoredLaw& law);

    /// Throws Error (corrupt) unless the increments are of this law, and as far as this state.
    void check_increments(const AnchoredLaw& law, const CounterState& increments) const;
};

} // namespace dp_counter
