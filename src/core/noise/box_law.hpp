// The law of box noise: the noises of a block of steps share one secret radius.
//
// The noise z in Z^B of a block has P(z) proportional to q^(max |z_t|), q = exp(-epsilon / K);
// blocks are independent. It is epsilon-DP for whatever changes at most K blocks, in each of them
// each step by at most 1. The radius R has P(R = r) proportional to (2r + 1)^B q^r, and given R the
// steps are independent and uniform on {-R..R}: then P(z) is the sum over r >= max |z_t| of q^r,
// but for a constant.
//
// R is G_0 + ... + G_B + J: G_i geometric, P(G = n) = (1 - q) q^n, and P(J = j) proportional to
// b(B, j) q^j, j = 0..B, with the Eulerian numbers of type B. For the sum over r of (2r + 1)^B x^r
// is the sum over j of b(B, j) x^j, divided by (1 - x)^(B + 1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/noise/laplace_scale.hpp"
#include "core/noise/privacy_unit.hpp"

namespace dp_counter {

/// Blocks of `size` steps, of which a change meets at most unit.sensitivity (K).
struct BoxLaw {
    static constexpr std::int32_t kMostSize = 64;

    PrivacyUnit unit;
    std::int32_t size; ///< B, 1 .. kMostSize

    /// Throws Error (parameter) for a size that is out of range.
    BoxLaw(const PrivacyUnit& unit, std::int32_t size);

    /// That of the geometric variables: K / epsilon.
    [[nodiscard]] LaplaceScale scale() const noexcept { return unit.scale(1); }

    /// Of each step, E[R (R + 1)] / 3; steps are uncorrelated.
    [[nodiscard]] double variance() const;

    friend bool operator==(const BoxLaw&, const BoxLaw&) = default;
};

/// b(size, 0), ..., b(size, size): b(0, 0) = 1, and
/// b(n, k) = (2k + 1) b(n - 1, k) + (2 (n - k) + 1) b(n - 1, k - 1).
template <class Number>
[[nodiscard]] std::vector<Number> eulerian_numbers(std::int32_t size) {
    std::vector<Number> row{1};
    for (std::int32_t n = 1; n <= size; ++n) {
        row.emplace_back(0);
        for (std::int32_t k = n; k >= 0; --k) {
            const auto at = static_cast<std::size_t>(k);
            row[at] *= 2 * k + 1;
            if (k > 0)
                row[at] += row[at - 1] * (2 * (n - k) + 1);
        }
    }
    return row;
}

/// The law of least variance, the least size of equals; blocks[i] is K where the size is i + 1.
[[nodiscard]] BoxLaw choose_box(const Epsilon& epsilon, std::span<const std::int64_t> blocks);

} // namespace dp_counter
