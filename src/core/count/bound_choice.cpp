#include "core/count/bound_choice.hpp"

#include <algorithm>
#include <cmath>

namespace dp_counter {

std::int64_t units_not_worth_more(double periods, double stddev) noexcept {
    return static_cast<std::int64_t>(std::min(periods * stddev, 0x1p62));
}

std::int64_t evidence_for_more(std::int64_t bound, double scale) noexcept {
    return static_cast<std::int64_t>(scale * std::log(static_cast<double>(bound)));
}

std::int64_t choose_bound(std::span<const std::int64_t> units_above, std::int64_t not_worth_more,
                          const Release& release) {
    release.unit().require_scale(2);
    const double scale = 2 / release.unit().density();
    const auto enough = [&](std::size_t candidate) {
        return int128{not_worth_more} + evidence_for_more(kBoundCandidates[candidate], scale);
    };
    const DiscreteLaplace sampler(release.unit().scale(2));
    return kBoundCandidates[first_with_enough(units_above, enough,
                                              [&] { return release.draw(sampler); })];
}

} // namespace dp_counter
