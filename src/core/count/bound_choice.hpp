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

/// Units by their numbers: of their events, or their greatest values. For each candidate, how many
/// units are above it, and what all of them add up to within it. A unit more or less changes each
/// of the first by at most 1, each sum by at most its candidate, and none the other way. Secret;
/// trivially copyable, and zeroed it is empty. Which units are added shows neither in time nor in
/// memory accesses.
class UnitsAbove {
public:
    /// A unit with so many events, or with this greatest value.
    void add(std::int64_t most) noexcept {
        for (std::size_t i = 0; i < kBoundCandidates.size(); ++i) {
            units_[i] += most > kBoundCandidates[i] ? 1 : 0;
            within_[i] += std::clamp<std::int64_t>(most, 0, kBoundCandidates[i]);
        }
    }

    /// Units above the candidates from this one on up to `most`, at least above that one.
    [[nodiscard]] std::span<const std::int64_t> above(std::size_t first,
                                                      std::int64_t most) const noexcept {
        const auto* const from = kBoundCandidates.begin() + first;
        const auto* const end = std::upper_bound(from + 1, kBoundCandidates.end(), most);
        return {units_.data() + first, static_cast<std::size_t>(end - from)};
    }

    /// The sum of all numbers, those above the candidate as the candidate.
    [[nodiscard]] int128 within(std::size_t candidate) const noexcept { return within_[candidate]; }

private:
    std::array<std::int64_t, kBoundCandidates.size()> units_;
    std::array<int128, kBoundCandidates.size()> within_;
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

/// The candidate that this chooses from number `first` on and up to `most`, where so many units are
/// not worth one more, plus the evidence for each candidate. It spends epsilon / part of the
/// release's unit, and nothing else of it may be shown. Throws Error (parameter) as
/// PrivacyUnit::require_scale(2 * part) does.
[[nodiscard]] std::size_t choose_candidate(const UnitsAbove& units, std::size_t first,
                                           std::int64_t most, std::int64_t not_worth_more, int part,
                                           const Release& release);

/// A bound, and two released numbers that say what it keeps. Trivial.
struct SuggestedBound {
    std::int64_t bound;
    std::int64_t most; ///< at which numbers of units are cut for what follows; the bound or more
    int128 within;     ///< all numbers cut at the bound, added up, plus noise
    int128 beyond;     ///< kBeyondWeight times what cutting at `most` adds to that, plus noise
    double scale;      ///< of either noise; 0 where it would be too large: then there is neither
};

/// The number of times that what is beyond the bound counts. It is the smaller part of all, and of
/// the share that a bound keeps the error is that of the smaller part: at 1 it would be a third
/// larger.
inline constexpr int kBeyondWeight = 2;

/// Spends epsilon of the release in three parts. A half of it chooses the bound, up to
/// `greatest`: what the call is for. A sixth chooses `most`: the first candidate from twice the
/// bound on above which there is no evidence of more units, so that what is cut there is little. A
/// third is for the two numbers, which a unit changes by at most bound + kBeyondWeight * (most -
/// bound) in l1 together. Throws as choose_candidate does.
[[nodiscard]] SuggestedBound suggest_bound(const UnitsAbove& units, std::int64_t greatest,
                                           std::int64_t not_worth_more, const Release& release);

} // namespace dp_counter
