// What is audited: mechanisms, radices, epsilons, horizons, and where the neighbors differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/count/mechanism_spec.hpp"

namespace dp_counter::test {

struct Case {
    Request request;
    std::int64_t steps;               ///< of the streams: the horizon, or some where there is none
    std::vector<std::int64_t> places; ///< steps whose bit the neighbors differ in, one at a time
};

/// Seconds of work: for `make test` and for proving the audit's power.
[[nodiscard]] std::vector<Case> small_cases();

/// Minutes of work.
[[nodiscard]] std::vector<Case> all_cases();

[[nodiscard]] std::string name_of(const Case& one);

/// The steps whose releases are looked at: all of a short stream; of a long one the first and the
/// last, those around the place, and the borders of the blocks that hold it.
[[nodiscard]] std::vector<std::int64_t> steps_to_watch(const MechanismSpec& spec, std::int64_t last,
                                                       std::int64_t place);

/// A stream of so many bits with this one at `place`. The other bits come and go.
[[nodiscard]] std::vector<bool> stream_of_bits(std::int64_t steps, std::int64_t place, bool bit);

} // namespace dp_counter::test
