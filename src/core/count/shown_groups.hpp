// Which groups of a public dictionary have data: those whose noisy weight reaches a threshold.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "core/noise/release.hpp"

namespace dp_counter {

/// A group by its place in the dictionary, and its weight: that of one unit is kUnitWeight.
struct GroupWeight {
    uint128 group;
    int128 weight;
};

/// All that a unit adds, to all groups together. Divisible by 1 .. kMostGroupsOfUnit.
inline constexpr std::int64_t kUnitWeight = 720720;
inline constexpr std::int32_t kMostGroupsOfUnit = 16;

/// The groups of one unit: of the different ones the `most` of least rank, which share its weight.
/// So a unit adds at most kUnitWeight in l1, and one with a single group adds it all to that one,
/// whatever `most` is. Which ones are kept depends on the unit's own groups and ranks alone.
/// Secret; trivially copyable.
class UnitGroups {
public:
    /// `most` is 1 .. kMostGroupsOfUnit.
    void begin(std::int32_t most) noexcept {
        most_ = most;
        count_ = 0;
    }

    /// A group has the same rank each time that it comes.
    void add(uint128 group, std::uint64_t rank) noexcept {
        Kept next{rank, group};
        for (std::int32_t i = 0; i < count_; ++i) {
            if (kept_[i].group == next.group)
                return;
            if (next < kept_[i])
                std::swap(next, kept_[i]);
        }
        if (count_ < most_)
            kept_[count_++] = next;
    }

    /// Calls add(GroupWeight) for each group that is kept.
    template <class Add>
    void share(Add&& add) const {
        for (std::int32_t i = 0; i < count_; ++i)
            add(GroupWeight{kept_[i].group, kUnitWeight / count_});
    }

private:
    struct Kept {
        std::uint64_t rank;
        uint128 group;

        auto operator<=>(const Kept&) const = default; // NOLINT: clang-tidy 14 sees a 0
    };

    std::int32_t most_;
    std::int32_t count_;
    std::array<Kept, kMostGroupsOfUnit> kept_; ///< in the order of ranks
};

static_assert(std::is_trivially_copyable_v<UnitGroups>);

/// Sorts by group and adds up the weights of each. Returns the number of groups, which come first.
[[nodiscard]] std::size_t add_up(std::span<GroupWeight> weights) noexcept;

/// Writes the groups that are shown, with noisy weights, in the order of the dictionary; returns
/// how many. `with_data` is what add_up left, `shown` has room for its groups and `candidates`.
///
/// The law is that of noise for each of `groups` cells (sparse_noise.hpp), of which those are shown
/// whose weight and noise reach the threshold. `candidates`, the binomial number of cells whose
/// noise alone does, and which ones they are, is drawn for all cells, also those with data: so the
/// law of it is public. On cells with data the candidates are dropped, and noise is drawn anew:
/// cells remain independent, each with the right law. That is epsilon-DP for noise of scale
/// kUnitWeight / epsilon; `candidates` must not be known to anyone.
///
/// The candidates are a uniform set of that size (Floyd; Bentley 1987): the last cell takes the
/// place of one that was drawn before. Noise has below(end), shown(), of_cell() and threshold().
template <class Noise>
[[nodiscard]] std::size_t show_groups(std::span<const GroupWeight> with_data, uint128 groups,
                                      std::uint64_t candidates, const Noise& noise,
                                      GroupWeight* shown) {
    GroupWeight* end = shown;
    for (uint128 last = groups - candidates; last < groups; ++last) {
        const uint128 drawn = noise.below(last + 1);
        const bool is_known = std::ranges::find(shown, end, drawn, &GroupWeight::group) != end;
        *end++ = {is_known ? last : drawn, 0};
    }
    end = std::remove_if(shown, end, [&](const GroupWeight& candidate) {
        return std::ranges::binary_search(with_data, candidate.group, {}, &GroupWeight::group);
    });
    std::for_each(shown, end, [&](GroupWeight& candidate) { candidate.weight = noise.shown(); });
    for (const GroupWeight& known : with_data) {
        const int128 weight = known.weight + noise.of_cell();
        if (weight >= noise.threshold())
            *end++ = {known.group, weight};
    }
    std::ranges::sort(shown, end, {}, &GroupWeight::group);
    return static_cast<std::size_t>(end - shown);
}

/// The noise of a release.
struct SparseRelease {
    const SparseNoise* sampler;
    Release release;

    [[nodiscard]] uint128 below(uint128 end) const { return release.draw_below(end); }
    [[nodiscard]] std::int64_t shown() const { return release.draw_shown(*sampler); }
    [[nodiscard]] std::int64_t of_cell() const { return release.draw(sampler->of_cell()); }
    [[nodiscard]] std::int64_t threshold() const { return sampler->threshold(); }
};

} // namespace dp_counter
