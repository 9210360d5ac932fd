#include "core/literature/honaker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dp_counter {

namespace {

double refined(int level) {
    return 0.5 / (1 - std::exp2(-(level + 1)));
}

} // namespace

ErrorSummary honaker_online(std::int64_t horizon, PrivacyUnit unit) noexcept {
    const auto last = static_cast<std::uint64_t>(horizon);
    const auto height = static_cast<int>(std::bit_width(last));
    const double node = unit.scale(height).variance();

    // How many of 1..horizon have bit l set: whole periods of 2^(l+1), then the rest.
    double total = 0;
    for (int l = 0; l < height; ++l) {
        const uint128 half = uint128{1} << l;
        const uint128 numbers = static_cast<uint128>(last) + 1;
        const uint128 rest = numbers % (2 * half);
        const uint128 set = numbers / (2 * half) * half + (rest > half ? rest - half : 0);
        total += static_cast<double>(set) * refined(l);
    }

    // The greatest sum: share the bits above a one with the horizon, set that bit to 0 and all
    // lower ones to 1; or the horizon itself.
    double below = 0; // all bits lower than l set
    for (int l = 0; l < height; ++l)
        below += refined(l);
    double greatest = 0;
    double prefix = 0;
    for (int l = height - 1; l >= 0; --l) {
        below -= refined(l);
        if ((last >> l & 1U) == 0)
            continue;
        greatest = std::max(greatest, prefix + below);
        prefix += refined(l);
    }
    return {node * total / static_cast<double>(horizon), node * std::max(greatest, prefix)};
}

} // namespace dp_counter
