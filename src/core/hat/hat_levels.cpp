#include "core/hat/hat_levels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace dp_counter {

namespace {

/// Fixed point has 64 fractional bits: lattice_bits * (height - 1) for the noise, 16 for the
/// weights and 8 to interpolate them.
constexpr int kLatticeBudget = 40;
constexpr double kMaxNodeScale = 0x1p50;
constexpr double kMaxTotal = 0x1p61;

/// a / b rounded up, a >= 0
std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

} // namespace

std::uint64_t fingerprint(const HatLevels& spec) noexcept {
    std::uint64_t h = 2;
    const auto add = [&h](std::int64_t word) {
        h = (h ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15U;
        h ^= h >> 29;
    };
    add(spec.lattice_bits | static_cast<std::int32_t>(spec.end) << 8);
    add(spec.horizon);
    for (int l = 0; l + 1 < spec.height; ++l) {
        add(spec.level[l].radix);
        add(spec.level[l].offset);
        add(spec.level[l].knots);
    }
    return h | 1;
}

HatLevels hat_levels(std::int64_t horizon, std::span<const HatShape> shapes, HatLevels::End end,
                     int most_lattice_bits) {
    require_range("horizon", horizon, 1, kMaxHorizon);
    HatLevels spec{};
    spec.height = 1;
    spec.horizon = horizon;
    if (shapes.empty())
        return spec;
    const int levels =
        static_cast<int>(std::min<std::size_t>(shapes.size(), HatLevels::kMaxHeight));
    spec.height = levels + 1;
    spec.end = end;
    spec.lattice_bits = std::min(most_lattice_bits, kLatticeBudget / levels);
    if (spec.lattice_bits < kLeastLatticeBits)
        throw Error(Fault::parameter, "too many levels for the hat mechanism",
                    "Choose a larger k, a smaller horizon or the mechanism 'subtraction'.");
    std::int64_t children = horizon;
    for (int i = 0; i < levels; ++i) {
        const std::int64_t radix = shapes[static_cast<std::size_t>(i)].radix;
        const std::int64_t offset = shapes[static_cast<std::size_t>(i)].offset;
        const std::int64_t extra = shapes[static_cast<std::size_t>(i)].extra;
        require_range("k of the mechanism 'hat'", radix, kMinRadix,
                      end == HatLevels::End::fading ? kMaxFadingRadix : kMaxHatRadix);
        require_range("offset", offset, 0, 4 * radix);
        require_range("extra", extra, -kMostExtra, kMostExtra);
        const std::int64_t behind = 2 * (children - 1 - offset) - radix; // twice the way to go
        const std::int64_t usual = behind <= 0 ? 1 : ceil_div(behind, 2 * radix) + 1;
        // The last child lies in the last cell or in the one before it.
        const std::int64_t last = children > offset ? (children - 1 - offset) / radix : -1;
        const std::int64_t knots = std::clamp<std::int64_t>(usual + extra, 1, last + 2);
        spec.level[i] = {static_cast<std::int32_t>(radix), static_cast<std::int32_t>(offset),
                         knots};
        children = knots;
    }
    return spec;
}

HatLevels fitted_hat_levels(std::int64_t horizon, std::span<const HatShape> shapes,
                            PrivacyUnit unit, HatLevels::End end) {
    HatLevels spec = hat_levels(horizon, shapes, end);
    while (!hat_fits(spec, unit) && spec.lattice_bits > kLeastLatticeBits)
        --spec.lattice_bits;
    return spec;
}

LaplaceScale hat_scale(const HatLevels& spec, PrivacyUnit unit, int scale) noexcept {
    LaplaceScale result = unit.scale(spec.height, spec.lattice_bits * spec.level_of(scale));
    if (scale >= spec.height) { // the share is (whole + left) / whole
        const int left = ((scale - spec.height) & ((1 << spec.fade_bits()) - 1)) + 1;
        const int whole = spec.fade_levels() << spec.fade_bits();
        result.sensitivity *= static_cast<unsigned>(whole);
        result.divisor = static_cast<std::uint32_t>(whole + left);
    }
    return result;
}

double hat_node_variance(const HatLevels& spec, PrivacyUnit unit, int scale) noexcept {
    const double step = std::ldexp(1.0, -spec.lattice_bits * spec.level_of(scale));
    return hat_scale(spec, unit, scale).variance() * step * step;
}

bool hat_fits(const HatLevels& spec, PrivacyUnit unit) noexcept {
    if (spec.height == 1) { // the sum of all noise: 20 standard deviations
        const double spread = 20 * std::sqrt(2 * static_cast<double>(spec.horizon));
        return hat_scale(spec, unit, 0).value() * spread <= kMaxTotal;
    }
    // Sums over levels are taken modulo 2^128 and only the release's noise has to fit: some 2^5
    // scales of level 0, which are at most kMaxHeight / Epsilon::kMin < 2^36. A knot of the window
    // less its share of the children, below 2^58, has a deviation of sqrt(2 + 4 radix / 3) scales.
    for (int l = 1; l < spec.height; ++l)
        if (hat_scale(spec, unit, l).value() *
                std::max(8.0, std::sqrt(static_cast<double>(spec.level[l - 1].radix))) >
            8 * kMaxNodeScale)
            return false;
    return true;
}

void require_hat_fits(const HatLevels& spec, PrivacyUnit unit) {
    if (hat_fits(spec, unit))
        return;
    char message[96];
    (void)std::snprintf(message, sizeof message,
                        "epsilon %g is too small for this horizon and mechanism",
                        unit.epsilon.value());
    throw Error(Fault::parameter, message,
                "Choose a larger epsilon, a smaller sensitivity or horizon, or another mechanism.");
}

} // namespace dp_counter
