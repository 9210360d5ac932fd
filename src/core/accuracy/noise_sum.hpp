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
    int128 multiplicity;
};

/// S = sum of the terms. The release is the count plus S, rounded to an integer; halves round up.
/// Of a difference of releases or of a sum of such, each is rounded by itself.
struct NoiseSum {
    std::vector<NoiseTerm> terms;
    int128 denominator = 1; ///< positive
    int128 roundings = 0;   ///< more than one: an even number, half of them subtracted
};

/// The sum of n independent noises like this one.
[[nodiscard]] inline NoiseSum times(NoiseSum sum, std::int64_t n) {
    for (NoiseTerm& term : sum.terms)
        term.multiplicity *= n;
    sum.roundings *= n;
    return sum;
}

/// The sum of independent noises, of which one may count whole numbers.
[[nodiscard]] inline NoiseSum sum_of(NoiseSum a, NoiseSum b) {
    if (a.denominator != b.denominator) {
        NoiseSum& coarse = a.denominator == 1 ? a : b;
        const NoiseSum& fine = a.denominator == 1 ? b : a;
        for (NoiseTerm& term : coarse.terms)
            term.coefficient *= fine.denominator;
        coarse.denominator = fine.denominator;
    }
    a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
    a.roundings += b.roundings;
    return a;
}

} // namespace dp_counter
