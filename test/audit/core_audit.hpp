// Audits of cases, through the core.
#pragma once

#include <string>

#include "audit/cases.hpp"
#include "core/noise/random_source.hpp"

namespace dp_counter::test {

struct Verdict {
    double epsilon = 0;    ///< stated
    double bound = 0;      ///< spent at least, at the worst place
    double half_noise = 0; ///< the same with half the noise, which spends 2 epsilon
    std::string event;     ///< that shows the bound

    [[nodiscard]] bool passes() const { return bound <= epsilon; }
    /// The share of 2 epsilon that the audit can see.
    [[nodiscard]] double seen() const { return half_noise / (2 * epsilon); }
};

/// Audits every place of a case with `runs` releases of each neighbor. A bound above a mechanism's
/// epsilon comes with probability at most `error`, all places together. With half_noise, a second
/// audit measures the audit's power.
[[nodiscard]] Verdict audit_case(const Case& one, std::size_t runs, double error, bool half_noise,
                                 RandomSource& random);

} // namespace dp_counter::test
