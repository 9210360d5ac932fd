// Which mechanism, with which parameters: decided before the first row, from public values alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/hat/hat_levels.hpp"
#include "core/noise/laplace_scale.hpp"
#include "core/noise/privacy_unit.hpp"
#include "core/tree/offset_digits.hpp"

namespace dp_counter {

enum class Mechanism : std::uint8_t {
    subtraction, ///< k-ary tree with negative digits: the paper's Algorithm 2, odd and even k
    plain,       ///< k-ary tree without subtraction; k = 2 is the binary tree mechanism
    hat,         ///< overlapping nodes with least-squares weights: the most accurate
};

[[nodiscard]] const char* mechanism_name(Mechanism mechanism) noexcept;

/// The mechanism of that name. Throws Error (parameter) if there is none.
[[nodiscard]] Mechanism mechanism_from_name(std::string_view text);

/// Throws Error (parameter) unless the horizon is within 1 .. kMaxHorizon.
void check_horizon(std::int64_t horizon);

/// What the analyst asked for; what is not given is chosen.
struct Request {
    std::int64_t horizon; ///< the most steps the stream may have, 1 .. kMaxHorizon; or kUnbounded
    PrivacyUnit unit;
    std::optional<std::int32_t> radix; ///< k, kMinRadix .. kMaxRadix
    std::optional<Mechanism> mechanism;

    friend bool operator==(const Request&, const Request&) = default;
};

/// A mechanism with all its parameters. All the releases at steps 1 .. horizon together are
/// epsilon-differentially private: each bit has weight 1 on each of `height` levels of nodes, so
/// the l1 sensitivity is the height, and each node carries discrete Laplace noise of scale height /
/// epsilon. (Of less where a bit has less weight in the levels above: hat_levels.hpp.)
struct MechanismSpec {
    Mechanism mechanism;
    std::int32_t radix; ///< k; 0 for hats with chosen, perhaps unequal, radices
    int height;
    std::int64_t horizon;
    PrivacyUnit unit;
    HatLevels levels; ///< of hat

    /// Whether it is one of the paper's mechanisms, described by digits().
    [[nodiscard]] bool is_tree() const noexcept {
        return mechanism == Mechanism::subtraction || mechanism == Mechanism::plain;
    }

    friend bool operator==(const MechanismSpec&, const MechanismSpec&) = default;

    /// Of subtraction and plain.
    [[nodiscard]] DigitSystem digits() const;

    /// Whether its noise has fractions, so that a release is rounded: hat with nodes above
    /// the steps.
    [[nodiscard]] bool is_fractional() const noexcept { return !is_tree() && height > 1; }

    /// What the noise of a node with this number of a scale is drawn from. The paper's mechanisms
    /// have one scale for all levels; the levels of hats have lattices of their own and, below a
    /// fading end, further scales (hat_levels.hpp).
    [[nodiscard]] LaplaceScale scale(int number = 0) const noexcept;

    /// The number of scales.
    [[nodiscard]] int scales() const noexcept { return is_tree() ? 1 : levels.scales(); }

    /// Mean of the releases' variances over steps 1 .. horizon, rounding included. For hats it
    /// takes up to milliseconds.
    [[nodiscard]] double mse() const;
};

/// Completes a request. Without k and mechanism: the least exact MSE of all; without k: the least
/// of that mechanism; with k alone: subtraction, the paper's. Ties go to the lower height, then to
/// the smaller radix, then to the smaller state: equal requests always have equal mechanisms.
/// Throws Error (parameter) for values out of range. Of an unbounded request it is the mechanism of
/// epoch number 0, 1, ..., whose horizon is the epoch's length (epochs.hpp): where hats, also those
/// asked for, no longer fit, it is a tree or, of hats of a given k, the best there is. Others have
/// epoch 0 alone.
[[nodiscard]] MechanismSpec make_mechanism(const Request& request, int epoch = 0);

} // namespace dp_counter
