#include "core/count/bound_choice.hpp"

#include <cmath>

namespace dp_counter {

std::int64_t units_not_worth_more(double periods, double stddev) noexcept {
    return static_cast<std::int64_t>(std::min(periods * stddev, 0x1p62));
}

std::int64_t evidence_for_more(std::int64_t bound, double scale) noexcept {
    return static_cast<std::int64_t>(scale * std::log(static_cast<double>(bound)));
}

std::size_t choose_candidate(const UnitsAbove& units, std::size_t first, std::int64_t most,
                             std::int64_t not_worth_more, int part, const Release& release) {
    release.unit().require_scale(2 * part);
    const double scale = 2 * part / release.unit().density();
    const auto enough = [&](std::size_t candidate) {
        return int128{not_worth_more} +
               evidence_for_more(kBoundCandidates[first + candidate], scale);
    };
    const DiscreteLaplace sampler(release.unit().scale(2 * part));
    return first + first_with_enough(units.above(first, most), enough,
                                     [&] { return release.draw(sampler); });
}

SuggestedBound suggest_bound(const UnitsAbove& units, std::int64_t greatest,
                             std::int64_t not_worth_more, const Release& release) {
    constexpr int kPartOfBound = 2;
    constexpr int kPartOfMost = 6;
    constexpr int kPartOfNumbers = 3;
    static_assert(6 / kPartOfBound + 6 / kPartOfMost + 6 / kPartOfNumbers == 6);
    const std::size_t chosen =
        choose_candidate(units, 0, greatest, not_worth_more, kPartOfBound, release);
    const auto* const twice = std::lower_bound(kBoundCandidates.begin(), kBoundCandidates.end() - 1,
                                               2 * kBoundCandidates[chosen]);
    const std::size_t last =
        choose_candidate(units, static_cast<std::size_t>(twice - kBoundCandidates.begin()),
                         kBoundCandidates.back(), 0, kPartOfMost, release);
    SuggestedBound suggested{kBoundCandidates[chosen], kBoundCandidates[last], 0, 0, 0};
    const std::int64_t beyond = suggested.most - suggested.bound;
    const PrivacyUnit numbers(release.unit().epsilon,
                              release.unit().sensitivity *
                                  (suggested.bound + kBeyondWeight * beyond));
    if (!numbers.has_scale(kPartOfNumbers))
        return suggested;
    const DiscreteLaplace sampler(numbers.scale(kPartOfNumbers));
    suggested.scale = sampler.scale().value();
    suggested.within = units.within(chosen) + release.draw(sampler);
    suggested.beyond =
        kBeyondWeight * (units.within(last) - units.within(chosen)) + release.draw(sampler);
    return suggested;
}

} // namespace dp_counter
