// What libFuzzer throws bytes at. A target returns for every input: what it must not do is crash,
// let an exception out, or break one of the promises that it checks with require().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dp_counter::test {

using Bytes = std::span<const std::uint8_t>;

/// Any horizon, epsilon, k and mechanism: a plan that keeps its contract and runs, or an Error.
void fuzz_planner(Bytes input);

/// Any scale and any random words: a sampler that draws, or an Error.
void fuzz_sampler(Bytes input);

/// Any bytes as a mechanism's name.
void fuzz_name(Bytes input);

/// Any bytes as the stored state of a live counter: refused as corrupt, or a state that goes on and
/// is written back to the same bytes. All but some inputs get a right head and checksum first, so
/// that what lies behind these is reached.
void fuzz_state(Bytes input);

/// The same of a counter with box noise: two bytes say how long a block is, and whether the head
/// and the checksum are right.
void fuzz_box(Bytes input);

/// The same of a counter of active persons, whose increments are a state within the state.
void fuzz_anchored(Bytes input);

/// Any question about errors and intervals: an answer that makes sense, or an Error.
void fuzz_report(Bytes input);

struct FuzzTarget {
    const char* name; ///< of its corpus in test/fuzz/corpus
    void (*run)(Bytes input);
};

inline constexpr FuzzTarget kFuzzTargets[] = {
    {"planner", fuzz_planner}, {"sampler", fuzz_sampler}, {"name", fuzz_name},
    {"state", fuzz_state},     {"box", fuzz_box},         {"anchored", fuzz_anchored},
    {"report", fuzz_report},
};

} // namespace dp_counter::test
