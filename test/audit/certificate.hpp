// What a mechanism spends, computed: no statistics, and nothing that the code says about itself but
// which noise it adds.
#pragma once

#include <cstdint>
#include <vector>

#include "audit/cases.hpp"
#include "core/count/mechanism_spec.hpp"

namespace dp_counter::test {

/// The matrix K of a running counter: releases are counts + K z, with independent z whose noise has
/// scale 1. Each column is read off the counter by letting one node draw one number and all others
/// draw 0. An event more at a step changes the counts by a vector a. Neighbors can be told apart
/// only as far as z can from z + r, for whatever r has K r = a: the density of z changes by at most
/// exp(sum |r|). The least such sum is the privacy loss.
class Certificate {
public:
    /// Of the first `steps` steps of a counter.
    Certificate(const Request& request, std::int64_t steps);

    struct Loss {
        double spent; ///< the sum of |r| of an r with K r = a
        double least; ///< no r has less: by a solution of the dual program
    };
    /// Of a change at this step by what the unit's sensitivity allows.
    [[nodiscard]] Loss loss(std::int64_t step) const;

private:
    using Vector = std::vector<double>;

    double sensitivity_;
    std::vector<Vector> columns_; ///< of K
};

struct Certified {
    Certificate::Loss loss; ///< the greatest of all steps
    std::int64_t step;      ///< that has it
    double gap;             ///< the greatest between what is spent and the dual's proof

    /// Whether the mechanism spends its epsilon, neither more nor less.
    [[nodiscard]] bool is_exactly(double epsilon) const;
};

/// Of all steps of a case, or of its places where it is long.
[[nodiscard]] Certified certify(const Case& one);

} // namespace dp_counter::test
