// What is protected, and how well.
#pragma once

#include <cstdint>

#include "core/base/epsilon.hpp"
#include "core/noise/laplace_scale.hpp"

namespace dp_counter {

/// Inputs are neighbors if their numbers, of all steps together, differ by at most `sensitivity`
/// in l1; all releases together are epsilon-differentially private. For bits it is 1. (An Epsilon
/// by itself is the unit of a count.)
struct PrivacyUnit {
    Epsilon epsilon;
    std::int64_t sensitivity; ///< at least 1

    /// Throws Error (parameter) unless sensitivity >= 1.
    PrivacyUnit(Epsilon epsilon, std::int64_t sensitivity = 1);

    /// epsilon per unit of what changes: noise depends on it alone. For choices and reports.
    [[nodiscard]] double density() const noexcept {
        return epsilon.value() / static_cast<double>(sensitivity);
    }

    /// The noise of a node where every number counts on `height` levels of nodes, in units of
    /// 2^-lattice_bits: scale height * sensitivity / epsilon, exactly.
    [[nodiscard]] LaplaceScale scale(int height, int lattice_bits = 0) const noexcept {
        return {epsilon, static_cast<uint128>(height) * static_cast<uint128>(sensitivity)
                             << lattice_bits};
    }

    /// Whether height * sensitivity / epsilon is at most 2^36.
    [[nodiscard]] bool has_scale(int height) const noexcept;
    /// Throws Error (parameter) if it is not.
    void require_scale(int height) const;

    friend bool operator==(const PrivacyUnit&, const PrivacyUnit&) = default;
};

} // namespace dp_counter
