// What noise a release carries, as public values: a weighted sum of discrete Laplace variables.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/checked.hpp"
#include "core/noise/laplace_scale.hpp"

namespace dp_counter {

/// `multiplicity` independent discrete Laplace variables of one scale, each times
/// coefficient / denominator (of the sum).
struct NoiseTerm {
    int128 coefficient;
    LaplaceScale scale;
    std::int64_t multiplicity;
};

/// S = sum of the terms. The release is the count plus S, rounded to an integer; halves round up.
struct NoiseSum {
    std::vector<NoiseTerm> terms;
    int128 denominator = 1; ///< positive
};

} // namespace dp_counter
