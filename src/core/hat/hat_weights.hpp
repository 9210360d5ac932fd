// The weights of a hat mechanism: how much each node's noise counts in the release at t.
// Public values alone, so a set of weights may be cached and shared by all streams of one shape.
//
// One level. Knot j lies at child offset + radix * j; a child gives its weight to the knots left
// and right of it, the nearer one more, together 1. The children between two knots are a cell.
//
//     knot        0       1       2       3
//     share 1 ----*       *       *       *----
//                 |\     /|\     /|\     /|
//                 |  \ /  |  \ /  |  \ /  |
//                 |  / \  |  / \  |  / \  |
//     share 0     |/     \|/     \|/     \|
//     cell     -1     0       1       2     3
//
// On top of a fading end the last cell slopes as well, towards a knot that does not exist: it has
// neither noise nor weight. The children there, and theirs, have the less noise (scale_of).
//
// The stream at step t, in cell J = 5 of that level (its "tick" is the cell of the level below, or
// the step). Each knot's noise has a weight lambda in the release:
//
//     knot         0   1 | 2   3   4   5   6   7 | 8   9
//     lambda       1   1 | w0  w1  w2  w3  w4  w5| 0   0
//                        |<- J-3 .. window .. J+2|
//     passed       ========================>t
//     drawn        ======================================>      to the end of cell J + 2
//
// The table holds a row w0 .. w5 for each tick of a cell: the next tick takes the next row, the
// next cell moves the window by a knot. Whatever the table holds, L R = A exactly
// (docs/derivation.md); it decides the error alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/hat/hat_levels.hpp"

namespace dp_counter {

inline constexpr int kHatLeft = 3;  ///< knots of the window left of J
inline constexpr int kHatAhead = 2; ///< knots of the window right of J
inline constexpr int kHatWindow = kHatLeft + 1 + kHatAhead;
inline constexpr int kWeightBits = 16;

/// Weights of the knots J - kHatLeft .. J + kHatAhead in units of 2^-16.
struct HatRow {
    std::int32_t weight[kHatWindow];
};

/// Over the first children of a cell: the sums of the shares of the knot to its right and of their
/// squares, in units of 2^-lattice_bits and 2^-(2 lattice_bits).
struct HatShareSum {
    std::int64_t right;
    std::int64_t right_right;
};

/// One level: how its knots lie over its children, and where its tables are.
struct HatWeightsLevel {
    std::int64_t knots;
    std::int64_t children;   ///< nodes of the level below
    std::int64_t first_cell; ///< -1 if there are ticks before knot 0, otherwise 0
    std::int64_t last_cell;  ///< of the last child
    std::int64_t first_tick; ///< 0, or -1 if the level below has a cell -1
    std::int64_t end_tick;   ///< one past the last tick
    std::int64_t radix;
    std::int64_t offset;
    std::int64_t left_classes;  ///< cells at the left end that have rows of their own
    std::int64_t right_classes; ///< and at the right end; all others share one set
    std::int64_t stride;        ///< rows from one class to the next
    std::int64_t shared_cells;  ///< cells 0 .. before this one have children of two knots
    std::int64_t fades_from;    ///< from this cell on children may have less noise; none: no cell
    std::int64_t fading_child;  ///< its first child
    std::int64_t rows;          ///< byte offset of the rows of all classes in the block
    std::int64_t shares;        ///< byte offset of the shares: of the right-hand knot, per child
    std::int64_t sums;          ///< byte offset of the share sums of the first 0 .. radix children
    std::int64_t left;          ///< byte offset of left_of() of the fading children
    std::int64_t queue;         ///< children that can be drawn and not yet used
    std::int64_t opens;         ///< its first tick, or the second: up to there all weights are 0
    std::int64_t first_reach;   ///< cells ahead of the first one whose children have been drawn
    bool has_rows[2];           ///< of the classes up to the shared one, and of those behind it

    /// Whether the level is not there, or only begins to rise, when the stream is at this tick.
    [[nodiscard]] bool is_waiting(std::int64_t tick) const noexcept {
        return opens > first_tick && tick <= opens;
    }
    /// The last cell whose children have been drawn when the stream is in this one.
    [[nodiscard]] std::int64_t drawn_to(std::int64_t cell) const noexcept {
        return cell + (cell == first_cell ? first_reach : kHatAhead);
    }
    /// The first tick and child of a cell (cell -1: its first tick; its first child is 0).
    [[nodiscard]] std::int64_t start(std::int64_t cell) const noexcept {
        return cell < 0 ? first_tick : offset + radix * cell;
    }
    [[nodiscard]] std::int64_t first_child(std::int64_t cell) const noexcept {
        return cell < 0 ? 0 : offset + radix * cell;
    }
    [[nodiscard]] std::int64_t end_child(std::int64_t cell) const noexcept {
        return cell >= last_cell ? children : offset + radix * (cell + 1);
    }
    /// The number of ticks in a cell that the horizon lets pass.
    [[nodiscard]] std::int64_t ticks(std::int64_t cell) const noexcept {
        const std::int64_t end = cell >= last_cell ? end_tick : start(cell + 1);
        return (end < end_tick ? end : end_tick) - start(cell);
    }
    [[nodiscard]] std::int64_t cell_of(std::int64_t tick) const noexcept {
        if (tick < offset)
            return first_cell < 0 ? -1 : 0;
        const std::int64_t cell = (tick - offset) / radix;
        return cell < last_cell ? cell : last_cell;
    }
    [[nodiscard]] bool is_shared(std::int64_t cell) const noexcept {
        return cell >= 0 && cell < shared_cells;
    }
    [[nodiscard]] bool fades(std::int64_t cell) const noexcept { return cell >= fades_from; }

    /// Cells with the same rows are of one class.
    [[nodiscard]] std::int64_t classes() const noexcept {
        const std::int64_t cells = last_cell - first_cell + 1;
        const std::int64_t most = left_classes + 1 + right_classes;
        return cells < most ? cells : most;
    }
    [[nodiscard]] std::int64_t class_of(std::int64_t cell) const noexcept {
        const std::int64_t from_left = cell - first_cell;
        const std::int64_t from_right = last_cell - cell;
        if (from_left < left_classes)
            return from_left;
        return left_classes + (from_right < right_classes ? right_classes - from_right : 0);
    }
    [[nodiscard]] bool is_at_end(std::int64_t number) const noexcept {
        return number > left_classes;
    }
    /// The first cell of a class.
    [[nodiscard]] std::int64_t cell_of_class(std::int64_t number) const noexcept {
        return is_at_end(number) ? last_cell + 1 - (classes() - number) : first_cell + number;
    }
    /// How many cells a class has.
    [[nodiscard]] std::int64_t cells_of_class(std::int64_t number) const noexcept {
        return number == left_classes ? last_cell - first_cell + 2 - classes() : 1;
    }
    /// The number of the cell's first row.
    [[nodiscard]] std::int64_t row_of(std::int64_t cell) const noexcept {
        return class_of(cell) * stride;
    }
};

/// A set of weights is the head of a block of bytes(spec) bytes and may be moved with memcpy. Its
/// rows are made when they are first asked for: not by two threads at once.
class HatWeights {
public:
    [[nodiscard]] static std::size_t bytes(const HatLevels& spec);

    /// Lays out the block, in a few microseconds. Throws bad_alloc.
    static HatWeights* create(void* block, const HatLevels& spec);

    [[nodiscard]] const HatLevels& spec() const noexcept { return spec_; }
    [[nodiscard]] int height() const noexcept { return spec_.height; }
    [[nodiscard]] int lattice_bits() const noexcept { return spec_.lattice_bits; }
    [[nodiscard]] std::int64_t horizon() const noexcept { return spec_.horizon; }

    /// At the last step all weights of knots are 1: the release is the sum of the top nodes, which
    /// takes the fewest draws. (Not where they fade.)
    [[nodiscard]] bool is_closing(std::int64_t t) const noexcept {
        return t == spec_.horizon && spec_.end == HatLevels::End::level;
    }

    /// Level 1 .. height - 1.
    [[nodiscard]] const HatWeightsLevel& level(int l) const noexcept {
        return reinterpret_cast<const HatWeightsLevel*>(this + 1)[l - 1];
    }
    /// The rows of a cell: for each of its ticks, and for its end. The first call for a level makes
    /// those of its beginning and of the cells between, the first near its end those there, some
    /// 70 ns each: a short stream comes to few. Throws bad_alloc and what checkpoint() throws.
    [[nodiscard]] const HatRow* rows(int l, std::int64_t cell) const {
        return reinterpret_cast<const HatRow*>(bytes_at(rows_at(l, cell)));
    }
    /// The same as a byte offset in the block.
    [[nodiscard]] std::int64_t rows_at(int l, std::int64_t cell) const {
        const HatWeightsLevel& here = level(l);
        const std::int64_t number = here.class_of(cell);
        if (const bool at_end = here.is_at_end(number); !here.has_rows[at_end]) [[unlikely]]
            const_cast<HatWeights*>(this)->make_rows(l, at_end); // the same whenever it is done
        return here.rows + number * here.stride * static_cast<std::int64_t>(sizeof(HatRow));
    }
    /// Of children 0, 1, ... of a shared cell, the share of the knot to their right, in units of
    /// 2^-lattice_bits.
    [[nodiscard]] const std::int32_t* shares(int l, std::int64_t cell) const noexcept {
        const HatWeightsLevel& here = level(l);
        const std::int64_t skipped = cell == here.knots - 1 ? here.radix : 0;
        return reinterpret_cast<const std::int32_t*>(bytes_at(here.shares)) + skipped;
    }

    [[nodiscard]] const HatShareSum* share_sums(int l) const noexcept {
        return reinterpret_cast<const HatShareSum*>(bytes_at(level(l).sums));
    }

    /// Calls give(knot, share) for the one or two knots that child k of level l - 1 belongs to.
    template <class Give>
    void for_each_parent(int l, std::int64_t k, Give&& give) const {
        for_each_parent(l, k, level(l).cell_of(k), give);
    }
    /// The same where the child's cell is known.
    template <class Give>
    void for_each_parent(int l, std::int64_t k, std::int64_t knot, Give&& give) const;

    /// How much of the steps of node k of level l a fading top leaves, in units of 2^-fade_bits,
    /// rounded down.
    [[nodiscard]] std::int32_t left_of(int l, std::int64_t k) const noexcept {
        if (l + 1 >= height() || k < level(l + 1).fading_child)
            return 0;
        return left(l + 1)[k - level(l + 1).fading_child];
    }

    /// The number of the scale of this node's noise.
    [[nodiscard]] int scale_of(int l, std::int64_t k) const noexcept {
        return spec_.scale_of(l, left_of(l, k));
    }

private:
    [[nodiscard]] const unsigned char* bytes_at(std::int64_t offset) const noexcept {
        return reinterpret_cast<const unsigned char*>(this) + offset;
    }
    HatWeightsLevel& level(int l) noexcept {
        return reinterpret_cast<HatWeightsLevel*>(this + 1)[l - 1];
    }
    [[nodiscard]] unsigned char* bytes_at(std::int64_t offset) noexcept {
        return reinterpret_cast<unsigned char*>(this) + offset;
    }
    [[nodiscard]] const std::int32_t* left(int l) const noexcept {
        return reinterpret_cast<const std::int32_t*>(bytes_at(level(l).left));
    }
    [[nodiscard]] HatRow* rows_of_class(int l, std::int64_t number) noexcept {
        return reinterpret_cast<HatRow*>(bytes_at(level(l).rows)) + number * level(l).stride;
    }
    void fill_shares(int l);
    void fill_left(int l);
    void make_rows(int l, bool at_end);

    HatLevels spec_;
};

static_assert(std::is_trivially_copyable_v<HatWeights>);
static_assert(sizeof(HatWeights) % alignof(HatWeightsLevel) == 0);

template <class Give>
void HatWeights::for_each_parent(int l, std::int64_t k, std::int64_t knot, Give&& give) const {
    const HatWeightsLevel& here = level(l);
    const std::int32_t one = std::int32_t{1} << lattice_bits();
    if (knot < 0) {
        give(std::int64_t{0}, one);
        return;
    }
    if (!here.is_shared(knot)) {
        give(knot, one);
        return;
    }
    const std::int32_t right = shares(l, knot)[k - here.start(knot)];
    if (right != one)
        give(knot, one - right);
    if (right != 0 && knot + 1 < here.knots)
        give(knot + 1, right);
}

/// A set of weights with the block it lies in.
class HatWeightsBlock {
public:
    explicit HatWeightsBlock(const HatLevels& spec)
        : words_(new uint128[HatWeights::bytes(spec) / sizeof(uint128) + 1]) {
        HatWeights::create(words_.get(), spec);
    }
    [[nodiscard]] const HatWeights& get() const noexcept {
        return *reinterpret_cast<const HatWeights*>(words_.get());
    }

private:
    std::unique_ptr<uint128[]> words_;
};

/// The place of step t in the tree, and the weights of the knots around it.
struct HatPosition {
    /// Level l: weights of the knots first, first + 1, ... of the window; 1 before, 0 after. In
    /// units of 2^-(64 - lattice_bits * l), as exact integers.
    struct Level {
        std::int64_t first; ///< J - kHatLeft, may be negative
        int128 weight[kHatWindow];
    };
    Level level[HatLevels::kMaxHeight];
};

/// The interpolation of the weights of level l >= 2 within one cell of level 1: the weight of
/// window slot m at tick w of that cell is base[m] + (2 w + 1) * slope[m], times 2^shift in units
/// of 2^-(64 - lattice_bits * l).
struct HatRamp {
    std::int64_t base[kHatWindow];
    std::int64_t slope[kHatWindow];
};

/// How far, as a fraction, a cell has been passed: base + (2 w + 1) * half_step at tick w of
/// the current cell of level 1; in units of 2^-32.
struct HatProgress {
    std::uint64_t base;
    std::uint64_t half_step;

    /// At the start of the level-1 cell, which is the tick of level 2.
    static HatProgress of_leaf_cell(std::int64_t ticks) noexcept {
        return {0, (std::uint64_t{1} << 31) / static_cast<std::uint64_t>(ticks)};
    }
    /// Of the cell that has seen `tick` of its `ticks` ticks, the current one being this far.
    [[nodiscard]] HatProgress above(std::int64_t tick, std::int64_t ticks) const noexcept {
        const auto n = static_cast<std::uint64_t>(ticks);
        return {((static_cast<std::uint64_t>(tick) << 32) + base) / n, half_step / n};
    }
};

/// Fractional bits by which the weights of level l >= 2 are finer than 2^-16, and what is missing
/// to a unit of 2^-(64 - lattice_bits * l).
[[nodiscard]] inline int hat_ramp_bits(int lattice_bits, int l) noexcept {
    const int bits = 48 - lattice_bits * l;
    return bits < 40 ? bits : 40;
}
[[nodiscard]] inline int hat_ramp_shift(int lattice_bits, int l) noexcept {
    return 48 - lattice_bits * l - hat_ramp_bits(lattice_bits, l);
}

[[nodiscard]] HatRamp hat_ramp(const HatRow& from, const HatRow& to, const HatProgress& progress,
                               int bits) noexcept;

/// Where the stream is at step t, 1 <= t <= horizon, and with which weights; `closing` is
/// weights.is_closing(t) except where the error of the tables alone is asked for.
void hat_locate(const HatWeights& weights, std::int64_t t, bool closing, HatPosition& position);

/// Calls emit(level, node, coefficient) for every node whose coefficient in the release at t is not
/// zero, steps first, from left to right. The coefficient counts the node's noise as an integer Z
/// of its lattice, so that the row of L has the entry coefficient / 2^(64 - lattice_bits * level);
/// it is an int128 in units of 2^-64. This is the very row that HatNoise uses.
template <class Emit>
void hat_weights(const HatWeights& weights, std::int64_t t, Emit&& emit);

/// A node and what its noise counts, as hat_weights() says.
struct HatTerm {
    int level;
    std::int64_t node;
    int128 coefficient;
};

/// `by` times the row of the release at t less `times` that of the release at `since`, 0 <= since
/// <= t, without zeros: what the noise of their difference consists of before either is rounded.
/// Both factors are at most 1000.
[[nodiscard]] std::vector<HatTerm> hat_difference(const HatWeights& weights, std::int64_t since,
                                                  std::int64_t t, std::int32_t times = 1,
                                                  std::int32_t by = 1);

template <class Emit>
void hat_weights(const HatWeights& weights, std::int64_t t, Emit&& emit) {
    const int top = weights.height() - 1;
    if (top == 0) {
        for (std::int64_t k = 0; k < t; ++k)
            emit(0, k, int128{1} << 64);
        return;
    }
    HatPosition position;
    hat_locate(weights, t, weights.is_closing(t), position);
    const int q = weights.lattice_bits();
    const auto lambda = [&](int at, std::int64_t k) -> int128 {
        constexpr int128 one = int128{1} << 64;
        if (at == 0)
            return k < t ? one : 0;
        const HatPosition::Level& here = position.level[at];
        if (k < here.first)
            return one >> (q * at);
        return k < here.first + kHatWindow ? here.weight[k - here.first] : 0;
    };
    for (int l = 0; l < top && !weights.is_closing(t); ++l) {
        // Children of knots of weight 1 alone, or 0 alone, cancel: only those near the window
        // count.
        const HatWeightsLevel& above = weights.level(l + 1);
        const std::int64_t window = position.level[l + 1].first;
        const std::int64_t from = window - 1 < above.first_cell ? above.first_cell : window - 1;
        const std::int64_t past = window + kHatWindow - 1;
        const std::int64_t to = past < above.last_cell ? past : above.last_cell;
        for (std::int64_t cell = from; cell <= to; ++cell) {
            // The child after w others of its cell has (1 - share[w]) of the knot to its left and
            // share[w] of the knot to its right; children at the ends belong to one knot.
            const bool shared = above.is_shared(cell);
            const std::int32_t* const share = weights.shares(l + 1, cell);
            const int128 left = lambda(l + 1, cell < 0 ? 0 : cell);
            const int128 gain = shared ? lambda(l + 1, cell + 1) - left : 0;
            const int128 whole = left << q;
            const std::int64_t first = above.first_child(cell);
            const std::int64_t end = above.end_child(cell);
            for (std::int64_t k = first; k < end; ++k) {
                int128 coefficient = lambda(l, k) - whole;
                if (shared)
                    coefficient -= gain * share[k - first];
                if (coefficient != 0)
                    emit(l, k, coefficient);
            }
        }
    }
    const std::int64_t past = position.level[top].first + kHatWindow;
    const std::int64_t knots = weights.level(top).knots;
    for (std::int64_t k = 0; k < (knots < past ? knots : past); ++k)
        if (const int128 coefficient = lambda(top, k); coefficient != 0)
            emit(top, k, coefficient);
}

} // namespace dp_counter
