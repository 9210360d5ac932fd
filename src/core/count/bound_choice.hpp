// A bound that is chosen in private: for the events of a unit, or for the values of events.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

#include "core/base/checked.hpp"
#include "core/noise/release.hpp"

namespace dp_counter {

/// The bounds to choose from: 1 to 6, 8, and ten for each power of ten, to 2 * 10^9.
inline constexpr auto kBoundCandidates = [] {
    std::array<std::int64_t, 91> candidates{1, 2, 3, 4, 5, 6, 8};
    constexpr std::int64_t kDecade[] = {10, 12, 15, 20, 25, 30, 40, 50, 65, 80};
    std::int64_t power = 1;
    for (std::size_t i = 7; i < candidates.size(); ++i) {
        candidates[i] = kDecade[(i - 7) % std::size(kDecade)] * power;
        if ((i - 7) % std::size(kDecade) == std::size(kDecade) - 1)
            power *= 10;
    }
    return candidates;
}();

/// How many units are above each candidate: have more events, or an event of a greater value. A
/// unit counts once for each, so one unit more or less changes every number by at most 1, and none
/// the other way. Secret; trivially copyable, and zeroed it is empty. Which units are added shows
/// neither in time nor in memory accesses.
class UnitsAbove {
public:
    /// A unit with so many events, or with this greatest value.
    void add(std::int64_t most) noexcept {
        for (std::size_t i = 0; i < kBoundCandidates.size(); ++i)
            units_[i] += most > kBoundCandidates[i] ? 1 : 0;
    }

    /// For the candidates up to `most`, at least for the first.
    [[nodiscard]] std::span<const std::int64_t> up_to(std::int64_t most) const noexcept {
        const auto end =
            std::upper_bound(kBoundCandidates.begin() + 1, kBoundCandidates.end(), most);
        return {units_.data(), static_cast<std::size_t>(end - kBoundCandidates.begin())};
    }

private:
    std::array<std::int64_t, kBoundCandidates.size()> units_;
};

static_assert(std::is_trivially_copyable_v<UnitsAbove>);

/// So many units above a bound are not worth one more of it. Each of them loses an event (or 1 of a
/// value) in one of the periods, and one more of the bound costs all periods this much standard
/// deviation: fewer units than periods * stddev lose less than that. Public arithmetic.
///
/// `periods` is the length of the time that the units together cover, in periods, where all of them
/// are of the same persons: of one window of each person, those in a window; of two windows, twice
/// as many, since a period loses half of what the units lose; of a life, those in the range.
[[nodiscard]] std::int64_t units_not_worth_more(double periods, double stddev) noexcept;

/// AboveThreshold (Dwork and Roth 2014, section 3.6), downwards: the first candidate of which the
/// number of units above, plus noise, is at most enough(candidate's number), plus noise of its own
/// that is drawn once for all. The last candidate if there is none. `noise()` is a discrete Laplace
/// variable of scale 2 / epsilon; `enough` is public.
///
/// That is epsilon-DP for one unit more or less, however many candidates there are. One unit more
/// raises the numbers by 0 or 1. What stops at candidate j without it stops there with it if the
/// noise of j falls by what its number rises: those before j are passed all the more. What stops at
/// j with it stops there without it if the noise of `enough` falls by 1, so that those before j are
/// passed again, and that of j by 1 less what its number rises. So two variables move by at most 1,
/// each at the price of epsilon / 2. Without the noise of `enough` each candidate has a price.
template <class Enough, class Noise>
[[nodiscard]] std::size_t first_with_enough(std::span<const std::int64_t> units_above,
                                            Enough&& enough, Noise&& noise) {
    const int128 once = noise();
    std::size_t candidate = 0;
    while (candidate + 1 < units_above.size() &&
           static_cast<int128>(units_above[candidate]) + noise() > enough(candidate) + once)
        ++candidate;
    return candidate;
}

/// How many more units than are not worth it a candidate needs above it to be passed, as evidence:
/// scale * ln(bound) for noise of this scale. A bound that no unit is above is passed with a
/// probability that falls by the factor 1 / bound, so a choice is as rare as it is too large.
/// Without that, one in 100 choices of a small population at a small epsilon is the last candidate.
/// Public arithmetic.
[[nodiscard]] std::int64_t evidence_for_more(std::int64_t bound, double scale) noexcept;

/// The bound that this chooses among units_above, UnitsAbove::up_to(), where so many units are not
/// worth one more, plus the evidence for each candidate. All of it is epsilon-DP for
/// the unit of the release, and nothing else of it may be shown. Throws Error (parameter) as
/// PrivacyUnit::require_scale(2) does.
[[nodiscard]] std::int64_t choose_bound(std::span<const std::int64_t> units_above,
                                        std::int64_t not_worth_more, const Release& release);

} // namespace dp_counter
