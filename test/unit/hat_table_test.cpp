// L R = A and the l1 sensitivity in exact arithmetic, for every row of the table of hats and every
// epoch, at the first horizon that it serves, at one between and at the last one.
//
// R is read off the levels' numbers here, from the definition (docs/derivation.md, section 2), in
// integers; the code's shares are compared with it. Nothing is multiplied out. With p(k) the part
// of epsilon that a node spends, read off its sampler's parameter, and for nodes k of level l with
// parents j and shares C[j,k]
//
//   U_l(k) = p(k) + sum_j C[j,k] U_(l+1)(j),      M_l(k) = L[t,k] + sum_j C[j,k] M_(l+1)(j)
//
// U_0(i) is what step i spends, the sum over all nodes of R[k,i] p(k), and M_0(i) is (L R)[t,i].
//
// Sensitivity: U_0 <= 1. Where the end is level p is 1/h and columns sum to 1, so U_l = (h - l)/h.
// The same holds for nodes none of whose steps reach the fading cell; U of all others is computed
// on the levels that share what the top leaves, and is at most (h - l)/h on the lowest of them. On
// the levels below these p is 1/h, and a mean of values below a bound plus 1/h is below the next.
//
// L R = A: M_0(i) is 1 for i < t and 0 behind. M_l is 1 left of the window, 0 right of it, and
// computed between. Up to kEveryStep steps for each t; above, for a step of each tick, of every
// level, of the cells that have rows of their own at either end and of one that stands for all
// between: what the code computes for a level depends on the kinds of cells in two neighboring
// levels alone.
#include "core/hat/hat_table.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/count/epochs.hpp"
#include "core/hat/hat_choice.hpp"
#include "unit/hat_support.hpp"

namespace dp_counter {
namespace {

using test::OwnedWeights;

constexpr std::int64_t kEveryStep = 1000;
constexpr std::int64_t kEveryNode = 4000;

/// C of one level, from its definition.
class Coarsening {
public:
    Coarsening(const HatLevels& spec, int l)
        : shape_(spec.level[l - 1]), children_(l > 1 ? spec.level[l - 2].knots : spec.horizon),
          bits_(spec.lattice_bits), fade_bits_(spec.fade_bits()),
          fades_(spec.end == HatLevels::End::fading && l + 1 == spec.height) {}

    [[nodiscard]] std::int64_t children() const { return children_; }
    [[nodiscard]] std::int64_t knots() const { return shape_.knots; }
    [[nodiscard]] bool fades() const { return fades_; }
    [[nodiscard]] std::int64_t place_of(std::int64_t knot) const {
        return shape_.offset + shape_.radix * knot;
    }

    /// Calls give(knot, share), the share in units of 2^-lattice_bits.
    template <class Give>
    void for_each_parent(std::int64_t child, Give&& give) const {
        const std::int64_t one = std::int64_t{1} << bits_;
        const std::int64_t last = place_of(shape_.knots - 1);
        if (child <= shape_.offset) {
            give(0, one);
        } else if (child < last) {
            const std::int64_t knot = (child - shape_.offset) / shape_.radix;
            const std::int64_t right = nearest((child - place_of(knot)) * one, shape_.radix);
            give(knot, one - right);
            give(knot + 1, right);
        } else if (fades_) { // to 0, half a child behind the last one
            const std::int64_t lost =
                nearest(2 * (child - last) << fade_bits_, 2 * (children_ - last) - 1);
            give(shape_.knots - 1, one - (lost << (bits_ - fade_bits_)));
        } else {
            give(shape_.knots - 1, one);
        }
    }

private:
    /// a / b, halves rounded up
    static std::int64_t nearest(std::int64_t a, std::int64_t b) { return (2 * a + b) / (2 * b); }

    HatLevel shape_;
    std::int64_t children_;
    int bits_, fade_bits_;
    bool fades_;
};

class Proof {
public:
    explicit Proof(const HatLevels& spec) : spec_(spec), weights_(spec), top_(spec.height - 1) {
        for (int l = 1; l <= top_; ++l)
            coarsening_.emplace_back(spec, l);
        for (int scale = 0; scale < spec.scales(); ++scale) {
            const mpq_class price = test::price(spec, scale) * unit();
            EXPECT_EQ(price.get_den(), 1);
            price_.push_back(price.get_num().get_si());
        }
    }

    /// The code's R is this one, and nodes beyond the reach of the fading cell spend 1/h each.
    void check_columns() {
        const std::int64_t one = std::int64_t{1} << spec_.lattice_bits;
        for (int l = 1; l <= top_; ++l) {
            const Coarsening& c = of(l);
            const auto check = [&](std::int64_t child) {
                std::vector<std::pair<std::int64_t, std::int64_t>> here;
                std::int64_t sum = 0;
                c.for_each_parent(child, [&](std::int64_t knot, std::int64_t share) {
                    ASSERT_GE(share, 0);
                    sum += share;
                    if (share != 0)
                        here.emplace_back(knot, share);
                });
                if (c.fades() && child > c.place_of(c.knots() - 1))
                    ASSERT_LE(sum, one);
                else
                    ASSERT_EQ(sum, one);
                std::vector<std::pair<std::int64_t, std::int64_t>> code;
                (*weights_).for_each_parent(l, child, [&](std::int64_t knot, std::int32_t share) {
                    if (share != 0)
                        code.emplace_back(knot, share);
                });
                ASSERT_EQ(here, code) << spec_ << " level " << l << " child " << child;
                if (child < fading_from(l - 1)) {
                    ASSERT_EQ(price_of(l - 1, child), unit() / spec_.height);
                }
            };
            for_each_kind_of_child(c, check);
        }
    }

    /// No step spends more than epsilon, and none wastes more than rounding down costs.
    void check_sensitivity() {
        // u[k - from]: U of the nodes that the fading cell reaches, in units of 1 / (unit() *
        // 2^(lattice_bits * (top - l))).
        const int lowest = top_ - spec_.fade_levels();
        std::int64_t from = fading_from(top_);
        std::vector<std::int64_t> above;
        for (std::int64_t k = 0; k < of(top_).knots(); ++k)
            ASSERT_EQ(price_of(top_, k), unit() / spec_.height);
        for (std::int64_t k = from; k < of(top_).knots(); ++k)
            above.push_back(price_of(top_, k));
        for (int l = top_ - 1; l >= lowest; --l) {
            const std::int64_t scale = std::int64_t{1} << (spec_.lattice_bits * (top_ - l));
            const std::int64_t first = fading_from(l);
            std::vector<std::int64_t> here;
            for (std::int64_t k = first; k < of(l + 1).children(); ++k) {
                std::int64_t u = price_of(l, k) * scale;
                of(l + 1).for_each_parent(k, [&](std::int64_t knot, std::int64_t share) {
                    const std::int64_t other = // (h - l - 1)/h
                        unit() / spec_.height * (top_ - l) * (scale >> spec_.lattice_bits);
                    u += share *
                         (knot >= from ? above[static_cast<std::size_t>(knot - from)] : other);
                });
                here.push_back(u);
                const std::int64_t all = unit() / spec_.height * (top_ - l + 1) * scale;
                ASSERT_LE(u, all) << spec_ << " level " << l << " node " << k;
                if (l == lowest) {
                    ASSERT_GE(u + (unit() / spec_.height >> spec_.fade_bits()) * scale, all)
                        << spec_ << " level " << l << " node " << k;
                }
            }
            from = first;
            above = std::move(here);
        }
    }

    /// Row t of L R is that of A.
    void check_row(std::int64_t t) {
        std::vector<std::vector<HatTerm>> row(static_cast<std::size_t>(spec_.height));
        hat_weights(*weights_, t, [&](int l, std::int64_t k, int128 coefficient) {
            row[static_cast<std::size_t>(l)].push_back({l, k, coefficient});
        });
        // M of a level: 1 before `first`, the values from there on, then 0. In units of
        // 2^-(64 - lattice_bits * l), as the coefficients.
        std::int64_t first = 0;
        std::vector<int128> above(static_cast<std::size_t>(of(top_).knots()), 0);
        add(row[static_cast<std::size_t>(top_)], 0, above);
        for (int l = top_ - 1; l >= 0; --l) {
            const Coarsening& c = of(l + 1);
            const auto count = static_cast<std::int64_t>(above.size());
            const std::int64_t from =
                first > 0 ? std::clamp<std::int64_t>(c.place_of(first - 1), 0, c.children()) : 0;
            const std::int64_t to = first + count >= c.knots()
                                        ? c.children()
                                        : std::min(c.place_of(first + count), c.children());
            std::vector<int128> here(
                static_cast<std::size_t>(std::max<std::int64_t>(to - from, 0)));
            const int128 one = int128{1} << (64 - spec_.lattice_bits * (l + 1));
            for (std::int64_t k = from; k < to; ++k)
                c.for_each_parent(k, [&](std::int64_t knot, std::int64_t share) {
                    const std::int64_t i = knot - first;
                    here[static_cast<std::size_t>(k - from)] +=
                        share * (i < 0       ? one
                                 : i < count ? above[static_cast<std::size_t>(i)]
                                             : 0);
                });
            ASSERT_NO_FATAL_FAILURE(add(row[static_cast<std::size_t>(l)], from, here));
            first = from;
            trim(int128{1} << (64 - spec_.lattice_bits * l), first, here);
            above = std::move(here);
        }
        ASSERT_EQ(first, t) << spec_;
        ASSERT_TRUE(above.empty()) << spec_ << " t = " << t << " step " << first;
    }

    void check_rows() {
        if (spec_.horizon <= kEveryStep) {
            for (std::int64_t t = 1; t <= spec_.horizon && !testing::Test::HasFatalFailure(); ++t)
                check_row(t);
            return;
        }
        for (int l = 1; l <= top_; ++l) {
            const HatWeightsLevel& level = (*weights_).level(l);
            for_each_kind_of_cell(level, [&](std::int64_t cell) {
                for (std::int64_t w = 0; w < level.ticks(cell); ++w) {
                    const std::int64_t tick = level.start(cell) + w;
                    const std::int64_t t = // the first step of one tick, the last of the next
                        w % 2 == 0 ? first_step(l, tick) + 1 : first_step(l, tick + 1);
                    if (t >= 1 && t <= spec_.horizon && !testing::Test::HasFatalFailure())
                        check_row(t);
                }
            });
        }
        check_row(spec_.horizon);
    }

private:
    [[nodiscard]] const Coarsening& of(int l) const {
        return coarsening_[static_cast<std::size_t>(l - 1)];
    }
    /// All prices are multiples of one over this.
    [[nodiscard]] std::int64_t unit() const {
        return std::int64_t{spec_.height} * std::max(1, spec_.fade_levels()) << spec_.fade_bits();
    }
    [[nodiscard]] std::int64_t price_of(int l, std::int64_t k) const {
        return price_[static_cast<std::size_t>((*weights_).scale_of(l, k))];
    }
    /// The first node of a level with a step in the fading cell; its number of nodes if there is
    /// none.
    [[nodiscard]] std::int64_t fading_from(int l) const {
        std::int64_t node = of(top_).knots() - 1;
        if (l == top_)
            return node;
        if (spec_.end == HatLevels::End::level)
            return of(l + 1).children();
        node = of(top_).place_of(node) + 1;
        for (int i = top_ - 1; i > l; --i)
            node = node > 0 ? of(i).place_of(node - 1) + 1 : 0;
        return std::clamp<std::int64_t>(node, 0, of(l + 1).children());
    }

    /// All of them, or those of some cells at both ends and in the middle.
    template <class Visit>
    static void for_each_kind_of_child(const Coarsening& c, Visit&& visit) {
        const std::int64_t end = c.children();
        const std::int64_t part = kEveryNode / 8;
        for (std::int64_t k = 0; k < end && !testing::Test::HasFatalFailure(); ++k) {
            if (end > kEveryNode && k == part)
                k = end / 2;
            if (end > kEveryNode && k == end / 2 + part)
                k = end - part;
            visit(k);
        }
    }
    template <class Visit>
    static void for_each_kind_of_cell(const HatWeightsLevel& level, Visit&& visit) {
        const std::int64_t left = level.first_cell + level.left_classes;
        const std::int64_t right = level.last_cell - level.right_classes;
        for (std::int64_t cell = level.first_cell; cell <= level.last_cell; ++cell) {
            if (cell > left && cell <= right) // one of them stands for all
                cell = std::max(cell, right);
            visit(cell);
        }
    }
    /// The steps before a tick of level l.
    [[nodiscard]] std::int64_t first_step(int l, std::int64_t tick) const {
        for (int i = l - 1; i >= 1; --i) {
            const HatWeightsLevel& level = (*weights_).level(i);
            tick = tick > level.last_cell ? level.end_tick : level.start(tick);
        }
        return tick;
    }

    void add(const std::vector<HatTerm>& terms, std::int64_t first, std::vector<int128>& values) {
        for (const HatTerm& term : terms) {
            const std::int64_t i = term.node - first;
            ASSERT_TRUE(i >= 0 && i < static_cast<std::int64_t>(values.size()))
                << spec_ << " level " << term.level << " node " << term.node;
            values[static_cast<std::size_t>(i)] += term.coefficient;
        }
    }
    static void trim(int128 one, std::int64_t& first, std::vector<int128>& values) {
        while (!values.empty() && values.back() == 0)
            values.pop_back();
        const auto begin = std::find_if(values.begin(), values.end(),
                                        [one](const int128& value) { return value != one; });
        first += begin - values.begin();
        values.erase(values.begin(), begin);
    }

    HatLevels spec_;
    OwnedWeights weights_;
    int top_;
    std::vector<Coarsening> coarsening_;
    std::vector<std::int64_t> price_; ///< by scale, in units of 1 / unit()
};

void prove(const HatLevels& spec) {
    if (spec.height == 1)
        return;
    Proof proof(spec);
    ASSERT_NO_FATAL_FAILURE(proof.check_columns());
    ASSERT_NO_FATAL_FAILURE(proof.check_sensitivity());
    ASSERT_NO_FATAL_FAILURE(proof.check_rows());
}

TEST(HatTable, EveryRowIsAFactorizationWithinEpsilon) {
    for (std::size_t row = 0; row < std::size(kHatTable); ++row) {
        const HatTableEntry& entry = kHatTable[row];
        const bool is_last = row + 1 == std::size(kHatTable);
        const std::int64_t end = is_last ? entry.from / 10 * 12 : kHatTable[row + 1].from - 1;
        const std::set<std::int64_t> horizons{entry.from, entry.from + (end - entry.from) / 2, end};
        for (const std::int64_t horizon : horizons) {
            HatLevels spec = choose_hat(horizon, Epsilon(1e-3));
            if (spec.height == 1) { // noise per step is better
                ASSERT_LT(horizon, 12);
                spec = hat_levels(horizon, std::span(entry.shape, entry.levels),
                                  HatLevels::End::fading);
            }
            ASSERT_EQ(spec.end, HatLevels::End::fading);
            ASSERT_EQ(spec.height, static_cast<int>(entry.levels) + 1) << horizon;
            for (std::size_t l = 0; l < entry.levels; ++l)
                ASSERT_EQ(spec.level[l].radix, entry.shape[l].radix) << horizon;
            ASSERT_NO_FATAL_FAILURE(prove(spec));
        }
    }
}

TEST(HatTable, SoIsWhatFollowsIt) {
    for (const std::int64_t horizon :
         {std::int64_t{1000000000000}, std::int64_t{1000000000000000}, kMaxHorizon})
        ASSERT_NO_FATAL_FAILURE(prove(choose_hat(horizon, Epsilon(1))));
}

TEST(HatTable, SoAreCoarserLattices) {
    for (const std::int64_t horizon : {30, 365, 9999, 1000000, 1000000000})
        for (int bits = kLeastLatticeBits; bits < kMostLatticeBits; ++bits) {
            std::vector<HatShape> shapes;
            for (const HatTableEntry& entry : kHatTable)
                if (entry.from <= horizon)
                    shapes.assign(entry.shape, entry.shape + entry.levels);
            ASSERT_NO_FATAL_FAILURE(
                prove(hat_levels(horizon, shapes, HatLevels::End::fading, bits)));
        }
}

TEST(HatTable, SoIsEveryEpoch) {
    for (int epoch = 0; epoch < kEpochs; ++epoch)
        ASSERT_NO_FATAL_FAILURE(prove(epoch_levels(epoch, Epsilon(1))));
}

} // namespace
} // namespace dp_counter
