#include "core/count/bound_choice.hpp"

#include <algorithm>
#include <cmath>

namespace dp_counter {

std::int64_t units_not_worth_more(std::int64_t periods, double stddev) noexcept {
    return static_cast<std::int64_t>(std::min(static_cast<double>(periods) * stddev, 0x1p62));
}

std::int64_t choose_bound(std::span<const std::int64_t> units_above, std::int64_t enough,
                          const Release& release) {
    release.unit().require_scale(2);
    const DiscreteLaplace sampler(release.unit().scale(2));
    return kBoundCandidates[first_with_enough(units_above, enough,
                                              [&] { return release.draw(sampler); })];
}

} // namespace dp_counter
