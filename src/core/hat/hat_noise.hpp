// The hat mechanism as a stream: the noise of the release at each step.
//
// With Z the noise of the nodes and W_j = Z_j - (the shares' sum of the noise of knot j's
// children),
//     noise at t = sum of Z over the steps passed + sum over levels and knots of lambda_j(t) W_j
// (docs/derivation.md: the telescoping sum, summed the other way). So a level needs the sum of the
// W_j whose lambda has reached 1, the W_j of the window of knots, and a queue of children that
// have been drawn, for the W_j ahead, and not yet been reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/base/checked.hpp"
#include "core/base/fixed_point.hpp"
#include "core/hat/hat_weights.hpp"

namespace dp_counter {

/// The state of a stream. All numbers are integers: noise of level l counts units of
/// 2^-(lattice_bits * l), sums over levels count units of 2^-64 in arithmetic modulo 2^128, so that
/// only the result has to fit.
///
/// Contract: the object is the head of a block of bytes(plan) bytes, aligned to 16, that may be
/// moved with memcpy. Every call gets the weights that created it, or equal ones for which
/// is_state_at() was true. draw(scale) gives one fresh noise value from hat_scale(spec, epsilon,
/// scale), a std::int64_t; hat_fits() must hold. The number of draws depends on the step alone:
/// about (1 + 1/radix) a step, a cell of children at a time and two cells ahead;
/// upper levels open when the stream has come to them.
class HatNoise {
public:
    [[nodiscard]] static std::size_t bytes(const HatWeights& weights) noexcept;

    /// Lays the state at step 0 into block; nothing is drawn yet.
    static HatNoise* create(void* block, const HatWeights& weights) noexcept;

    /// Goes to the next step and returns the noise of its release. Throws Error (data) past the
    /// horizon, and Error (overflow) where a sum leaves its integer.
    template <class Draw>
    FixedPoint advance(const HatWeights& weights, Draw&& draw);

    /// The noise of a release at step t alone, 1 <= t <= horizon, for a stream that releases
    /// nothing else: one draw for each node whose weight at t is not zero.
    template <class Draw>
    [[nodiscard]] static FixedPoint sample(const HatWeights& weights, std::int64_t t, Draw&& draw);

    [[nodiscard]] std::int64_t step() const noexcept { return step_; }

    /// How many of the next steps need no more nodes than are drawn.
    [[nodiscard]] std::int64_t steps_drawn() noexcept {
        return levels_ == 0 ? 0 : level(1).ticks - level(1).tick;
    }

    /// Calls visit(std::int64_t&) for every integer of the state in a fixed order, to write or to
    /// read it. It suffices to keep these: with is_state_at() the state of an equal plan becomes
    /// the same.
    template <class Visit>
    void for_each_integer(Visit&& visit);

    /// Whether the integers can be those of a stream at step t; points it to its rows of these
    /// weights. Check this before using a state that was read from storage: an invalid one could do
    /// harm.
    [[nodiscard]] bool is_state_at(const HatWeights& weights, std::int64_t t);

private:
    static constexpr std::int64_t kWindowLimit = std::int64_t{1} << 58;

    struct Level {
        std::int64_t window[kHatWindow]; ///< W of the knots J - kHatLeft ..; 0 where there is none
        std::int64_t partial;            ///< shares so far of the knot after the window
        std::int64_t cell;               ///< J
        std::int64_t tick;               ///< ticks of the cell that have begun
        std::int64_t ticks;              ///< of the cell; 0 before the level opens
        std::int64_t row;                ///< byte offset of the cell's rows in the weights
        std::int64_t queue;              ///< byte offset of the queue in this block
        std::int64_t queue_size;
        std::int64_t head; ///< of the queue, a ring
        std::int64_t tail;
    };

    [[nodiscard]] Level& level(int l) noexcept { return reinterpret_cast<Level*>(this + 1)[l - 1]; }
    [[nodiscard]] std::int64_t* queue(const Level& level) noexcept {
        return reinterpret_cast<std::int64_t*>(reinterpret_cast<unsigned char*>(this) +
                                               level.queue);
    }
    [[nodiscard]] static const HatRow* row(const HatWeights& weights, const Level& level) noexcept {
        return reinterpret_cast<const HatRow*>(reinterpret_cast<const unsigned char*>(&weights) +
                                               level.row);
    }

    [[nodiscard]] std::int64_t pop(Level& level) noexcept {
        std::int64_t& slot = queue(level)[level.head];
        const std::int64_t value = slot;
        slot = 0;
        if (++level.head == level.queue_size)
            level.head = 0;
        return value;
    }

    template <class Draw>
    void open(const HatWeights& weights, int l, Draw& draw);
    template <class Draw>
    void next_cell(const HatWeights& weights, int l, Draw& draw);
    template <class Draw>
    void draw_children(const HatWeights& weights, int l, std::int64_t cell, std::int64_t& known,
                       Draw& draw);
    template <class Draw>
    [[nodiscard]] std::int64_t take_knot(const HatWeights& weights, int l, Draw& draw);
    template <class Draw>
    FixedPoint advance_flat(const HatWeights& weights, Draw& draw);
    void enter(const HatWeights& weights, int l);
    [[nodiscard]] bool is_place_at(const HatWeights& weights, std::int64_t t);
    void settle(const HatWeights& weights, int l, std::int64_t value) noexcept;
    void interpolate(const HatWeights& weights) noexcept;
    [[nodiscard]] FixedPoint close(const HatWeights& weights) noexcept;
    [[noreturn]] static void throw_past_horizon();

    uint128 settled_ = 0; ///< noise of the steps passed and W of the knots left of the windows
    uint128 held_ = 0;    ///< settled_ and the windows above level 1, at the current tick
    uint128 slope_ = 0;   ///< what held_ gains per step
    std::int64_t step_ = 0;
    std::int64_t horizon_;
    std::int64_t leaf_shift_;
    std::int64_t levels_; ///< above the steps
};

static_assert(std::is_trivially_copyable_v<HatNoise>);

template <class Draw>
FixedPoint HatNoise::advance(const HatWeights& weights, Draw&& draw) {
    if (levels_ == 0)
        return advance_flat(weights, draw);
    Level& leaf = level(1);
    if (leaf.tick == leaf.ticks) [[unlikely]] {
        if (step_ == horizon_)
            throw_past_horizon();
        if (step_ != 0) {
            next_cell(weights, 1, draw);
        } else { // from the top down, since a knot is a child of the level above
            for (int l = weights.height() - 1; l >= 1; --l) {
                if (weights.level(l).opens != weights.level(l).first_tick)
                    continue;
                open(weights, l, draw);
                level(l).tick = l > 1 ? 1 : 0; // the first tick of an upper level has begun
            }
        }
        interpolate(weights);
    }
    const uint128 passed = static_cast<uint128>(static_cast<std::uint64_t>(pop(leaf))) << 64;
    settled_ += passed;
    held_ += passed + slope_;
    const HatRow& row_weights = row(weights, leaf)[leaf.tick];
    ++leaf.tick;
    if (++step_ == horizon_ && weights.is_closing(step_)) [[unlikely]]
        return close(weights);
    int128 window = 0;
    for (int m = 0; m < kHatWindow; ++m)
        window += static_cast<int128>(leaf.window[m]) * row_weights.weight[m];
    return static_cast<FixedPoint>(held_ + (static_cast<uint128>(window) << leaf_shift_));
}

template <class Draw>
FixedPoint HatNoise::advance_flat(const HatWeights& weights, Draw& draw) {
    if (step_ == weights.horizon())
        throw_past_horizon();
    const auto total = static_cast<std::int64_t>(static_cast<std::uint64_t>(settled_));
    const auto next = checked_add<std::int64_t>(total, draw(0));
    settled_ = static_cast<std::uint64_t>(next);
    ++step_;
    return fixed_point(next);
}

/// Draws the noise of a cell's children, but for the first `known` that lie in the queue, and gives
/// it to the knots at its two ends: the W of the one to the left is complete with this, and moved
/// into its window slot.
template <class Draw>
void HatNoise::draw_children(const HatWeights& weights, int l, std::int64_t cell,
                             std::int64_t& known, Draw& draw) {
    const HatWeightsLevel& shape = weights.level(l);
    Level& here = level(l);
    const int bits = weights.lattice_bits();
    int128 all = 0;
    int128 right = 0;
    if (cell <= shape.last_cell) {
        const std::int64_t count = shape.end_child(cell) - shape.first_child(cell);
        const std::int32_t* const share = weights.shares(l, cell);
        const bool shared = shape.is_shared(cell);
        const bool fades = shape.fades(cell);
        std::int64_t* const slots = queue(here);
        for (std::int64_t w = 0; w < count; ++w) {
            if (known > 0)
                --known;
            else
                slots[here.tail] =
                    draw(fades ? weights.scale_of(l - 1, shape.first_child(cell) + w) : l - 1);
            const std::int64_t z = slots[here.tail];
            if (++here.tail == here.queue_size)
                here.tail = 0;
            all += z;
            if (shared)
                right += static_cast<int128>(z) * share[w];
        }
        all <<= bits;
        if (cell < 0)
            right = all;
    }
    // Knot `cell`: its noise less that of its children.
    std::int64_t difference = 0;
    if (cell >= 0 && cell < shape.knots) {
        const int128 w = take_knot(weights, l, draw) - (here.partial + (all - right));
        if (w >= kWindowLimit || w <= -kWindowLimit) [[unlikely]]
            throw_overflow();
        difference = static_cast<std::int64_t>(w);
    }
    here.window[kHatLeft + cell - here.cell] = difference;
    here.partial = static_cast<std::int64_t>(right);
}

/// The noise of the next knot of a level: of a child of the level above.
template <class Draw>
std::int64_t HatNoise::take_knot(const HatWeights& weights, int l, Draw& draw) {
    if (l + 1 == weights.height())
        return draw(l);
    Level& above = level(l + 1);
    if (above.ticks != 0)
        return pop(above);
    const std::int64_t knot = above.tail++; // its noise is kept for when that level opens
    return queue(above)[knot] = draw(weights.scale_of(l, knot));
}

/// At the first step, or where the level below is to enter its second cell. Its first children may
/// have been drawn by then, and used by the level below.
template <class Draw>
void HatNoise::open(const HatWeights& weights, int l, Draw& draw) {
    const HatWeightsLevel& shape = weights.level(l);
    Level& here = level(l);
    const std::int64_t used = std::exchange(here.tail, 0);
    std::int64_t known = used;
    here.cell = shape.first_cell;
    for (std::int64_t cell = here.cell; cell <= shape.drawn_to(here.cell); ++cell)
        draw_children(weights, l, cell, known, draw);
    for (std::int64_t i = 0; i < used; ++i)
        (void)pop(here);
    enter(weights, l);
    here.tick = shape.opens - shape.first_tick;
}

template <class Draw>
void HatNoise::next_cell(const HatWeights& weights, int l, Draw& draw) {
    Level& here = level(l);
    if (l + 1 < weights.height()) {
        Level& above = level(l + 1);
        if (above.ticks == 0)
            open(weights, l + 1, draw);
        else if (above.tick == above.ticks)
            next_cell(weights, l + 1, draw);
        ++above.tick;
    }
    settle(weights, l, here.window[0]);
    for (int m = 0; m + 1 < kHatWindow; ++m)
        here.window[m] = here.window[m + 1];
    std::int64_t drawn = weights.level(l).drawn_to(here.cell);
    ++here.cell;
    std::int64_t known = 0;
    while (drawn < weights.level(l).drawn_to(here.cell))
        draw_children(weights, l, ++drawn, known, draw);
    enter(weights, l);
}

template <class Draw>
FixedPoint HatNoise::sample(const HatWeights& weights, std::int64_t t, Draw&& draw) {
    if (weights.height() == 1) {
        std::int64_t total = 0;
        for (std::int64_t i = 0; i < t; ++i)
            total = checked_add<std::int64_t>(total, draw(0));
        return fixed_point(total);
    }
    uint128 total = 0; // modulo 2^128: only the result has to fit
    hat_weights(weights, t, [&](int l, std::int64_t node, int128 coefficient) {
        const int128 noise = draw(weights.scale_of(l, node));
        total += static_cast<uint128>(coefficient) * static_cast<uint128>(noise);
    });
    return static_cast<FixedPoint>(total);
}

template <class Visit>
void HatNoise::for_each_integer(Visit&& visit) {
    const auto wide = [&](uint128& value) {
        auto high = static_cast<std::int64_t>(static_cast<std::uint64_t>(value >> 64));
        auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
        visit(high);
        visit(low);
        value = static_cast<uint128>(static_cast<std::uint64_t>(high)) << 64 |
                static_cast<std::uint64_t>(low);
    };
    visit(step_);
    wide(settled_);
    wide(held_);
    wide(slope_);
    for (int l = 1; l <= levels_; ++l) {
        Level& here = level(l);
        for (std::int64_t& value : here.window)
            visit(value);
        visit(here.partial);
        visit(here.cell);
        visit(here.tick);
        visit(here.ticks);
        visit(here.head);
        visit(here.tail);
        for (std::int64_t i = 0; i < here.queue_size; ++i)
            visit(queue(here)[i]);
    }
}

} // namespace dp_counter
