// Which hat mechanism: its levels, and nothing random.
//
// Level 0 are the steps. The nodes of level l ("knots") are weighted sums of the nodes of level
// l - 1 ("children") in which every child has total weight 1, so a step has total weight 1 on every
// level and the l1 sensitivity of all nodes together is the height (docs/derivation.md).
//
// Where the end fades, the last knot of the top level falls to 0 at the horizon: the children
// behind it have less than total weight 1 there, and nodes of the levels below get the rest as a
// greater share of epsilon, that is less noise.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "core/base/limits.hpp"
#include "core/noise/privacy_unit.hpp"

namespace dp_counter {

/// One level above the steps. Knot j sits at child number offset + radix * j.
struct HatLevel {
    std::int32_t radix;  ///< children from one knot to the next, at least 2
    std::int32_t offset; ///< children before the first knot
    std::int64_t knots;
    friend bool operator==(const HatLevel&, const HatLevel&) = default;
};

/// A mechanism. Make one with hat_levels(): it keeps the contract that the levels cover the
/// horizon.
struct HatLevels {
    enum class End : std::int32_t { level, fading };

    static constexpr int kMaxHeight = dp_counter::kMaxHeight;
    static constexpr int kMostFadeBits = 4;
    static constexpr int kMostFadeLevels = 2;

    std::int32_t height;       ///< levels with the steps; the l1 sensitivity. 1: noise per step
    std::int32_t lattice_bits; ///< shares are multiples of 2^-lattice_bits; height 1: 0
    End end;                   ///< height 1: level
    std::int64_t horizon;
    HatLevel level[kMaxHeight - 1]; ///< level[l - 1] is level l; height - 1 are in use, others 0

    /// How many levels below the top share what a fading end leaves, the uppermost ones.
    [[nodiscard]] int fade_levels() const noexcept {
        if (end == End::level)
            return 0;
        return height - 1 < kMostFadeLevels ? height - 1 : kMostFadeLevels;
    }
    /// It is counted in units of 2^-fade_bits.
    [[nodiscard]] int fade_bits() const noexcept {
        return lattice_bits < kMostFadeBits ? lattice_bits : kMostFadeBits;
    }
    /// The number of different scales: one per level, from the steps up, and then for every level
    /// that shares, from the upper one down, those of 1, 2, .. 2^fade_bits units.
    [[nodiscard]] int scales() const noexcept { return height + (fade_levels() << fade_bits()); }

    /// The scale of a node of this level whose steps the top leaves so many units.
    [[nodiscard]] int scale_of(int l, std::int64_t left) const noexcept {
        if (left == 0)
            return l;
        return height + ((height - 2 - l) << fade_bits()) + static_cast<int>(left) - 1;
    }
    [[nodiscard]] int level_of(int scale) const noexcept {
        return scale < height ? scale : height - 2 - ((scale - height) >> fade_bits());
    }

    friend bool operator==(const HatLevels&, const HatLevels&) = default;
};

static_assert(std::is_trivially_copyable_v<HatLevels>);

/// A 64-bit fingerprint of the levels, odd: a collision within a session is out of the question.
[[nodiscard]] std::uint64_t fingerprint(const HatLevels& spec) noexcept;

/// Distance, place and number of the knots of one hat level.
struct HatShape {
    std::int32_t radix;
    std::int32_t offset;
    std::int32_t extra = 0; ///< knots more (or less) than the usual number, at most kMostExtra
};

/// Hats; no shapes: noise per step. The usual number of knots is the least of which the last is at
/// most half a radix before the end; it is changed by `extra` as far as there are children for
/// them. Throws Error (parameter) unless 1 <= horizon <= kMaxHorizon, every radix is in [kMinRadix,
/// kMaxHatRadix], where the end fades to kMaxFadingRadix, every offset in [0, 4 * radix], every
/// `extra` within +-kMostExtra, and the tower so low that a lattice is left for it.
///
/// The lattice has at most the given bits, and fewer in high towers. Six make the error that of an
/// unrounded hat within 0.01 %, three within 1 %.
inline constexpr std::int32_t kMaxHatRadix = 4096;
inline constexpr std::int32_t kMaxFadingRadix = 64; ///< its last cells have tables of their own
inline constexpr std::int32_t kMostExtra = 2; ///< so the last cell is not much longer than others
inline constexpr int kMostLatticeBits = 6;
inline constexpr int kLeastLatticeBits = 2;
[[nodiscard]] HatLevels hat_levels(std::int64_t horizon, std::span<const HatShape> shapes,
                                   HatLevels::End end = HatLevels::End::level,
                                   int most_lattice_bits = kMostLatticeBits);

/// The same with as many lattice bits as hat_fits() allows; with the fewest if it allows none.
[[nodiscard]] HatLevels fitted_hat_levels(std::int64_t horizon, std::span<const HatShape> shapes,
                                          PrivacyUnit unit,
                                          HatLevels::End end = HatLevels::End::level);

/// What one noise value of a scale is drawn from: P(Z) proportional to exp(-|Z| epsilon * share /
/// (height * 2^(lattice_bits * level))); the node gets the noise Z / 2^(lattice_bits * level). The
/// share is 1, and 1 + left / (2^fade_bits * fade_levels) where a fading top leaves something.
[[nodiscard]] LaplaceScale hat_scale(const HatLevels& spec, PrivacyUnit unit, int scale) noexcept;

/// The variance of a node's noise: that of Z / 2^(lattice_bits * level). For reports.
[[nodiscard]] double hat_node_variance(const HatLevels& spec, PrivacyUnit unit, int scale) noexcept;

/// Whether discrete noise is so much like continuous noise, on integers as on finer lattices, that
/// one order of the mechanisms, and one greatest error of each, serves all such units.
[[nodiscard]] inline bool is_nearly_continuous(PrivacyUnit unit) noexcept {
    return unit.density() <= 2;
}

/// True if every noise value and every sum of them fits the integers of HatNoise, except with
/// probability below exp(-140) each.
[[nodiscard]] bool hat_fits(const HatLevels& spec, PrivacyUnit unit) noexcept;

/// Throws Error (parameter) unless hat_fits.
void require_hat_fits(const HatLevels& spec, PrivacyUnit unit);

} // namespace dp_counter
