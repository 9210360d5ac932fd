// The paper's mechanisms as a stream: the noise of the release at each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/checked.hpp"
#include "core/tree/offset_digits.hpp"

namespace dp_counter {

/// The state of k-ary counting: the digits of t and the noise of the tree nodes that the release at
/// t uses ("live" terms). Every node's noise is drawn once, lives in one interval of steps and is
/// forgotten (paper, Proposition "p used on interval").
///
/// A level whose digit grows from zero only adds terms, so their sum stands for them; the terms of
/// a negative digit are taken back one by one and are kept on a stack. The top digit is never
/// negative. That is at most (height-1) * (k-1)/2 stored terms (paper, Lemma "log space", has
/// height * (k-1)/2), and none without subtraction.
///
/// Contract: the object is the head of a block of bytes(system, height) bytes; the stacks follow
/// it. The block may be moved with memcpy. draw() gives one fresh node noise a call; advance()
/// draws amortized O(1) times. The number of draws depends on t alone.
class TreeNoise {
public:
    [[nodiscard]] static std::size_t bytes(const DigitSystem& system, int height) noexcept {
        return sizeof(TreeNoise) + static_cast<std::size_t>(height) * sizeof(Level) +
               static_cast<std::size_t>(height - 1) * stack_size(system) * sizeof(std::int64_t);
    }

    /// Lays the state at step 0 into block.
    static TreeNoise* create(void* block, const DigitSystem& system, int height) noexcept;

    /// Goes to the next step and returns the noise of its release. Throws Error (overflow) at the
    /// end of the digits' capacity and where a sum leaves int64.
    template <class Draw>
    std::int64_t advance(Draw&& draw);

    /// The noise of a release at step t alone, for a stream that releases nothing before it: as
    /// many draws as t uses nodes.
    template <class Draw>
    [[nodiscard]] static std::int64_t sample(const DigitSystem& system, int height, std::int64_t t,
                                             Draw&& draw);

    /// Calls visit(std::int64_t&) for every integer that changes from step to step, in a fixed
    /// order, to write or to read it.
    template <class Visit>
    void for_each_integer(Visit&& visit);

    /// Whether the integers can be those of a stream at step t. Check this before using a state
    /// that was read from storage: an invalid one could do harm.
    [[nodiscard]] bool is_state_at(const DigitSystem& system, std::int64_t t) noexcept;

private:
    struct Level {
        std::int64_t sum;   ///< of the live terms of this level
        std::int64_t digit; ///< of t, within the digit system's range
    };

    static std::size_t stack_size(const DigitSystem& system) noexcept {
        return static_cast<std::size_t>(-system.lowest());
    }
    Level* levels() noexcept { return reinterpret_cast<Level*>(this + 1); }
    std::int64_t* stack(int level) noexcept {
        return reinterpret_cast<std::int64_t*>(levels() + height_) + level * stack_size_;
    }

    std::int64_t total_ = 0; ///< the sum of all live terms
    std::int64_t highest_;
    std::int64_t stack_size_; ///< minus the lowest digit
    std::int64_t height_;
};

static_assert(std::is_trivially_copyable_v<TreeNoise>);

template <class Draw>
std::int64_t TreeNoise::advance(Draw&& draw) {
    for (int i = 0; i < height_; ++i) {
        Level& level = levels()[i];
        if (level.digit < 0) { // one subtracted node less
            std::int64_t& term = stack(i)[-level.digit - 1];
            level.sum = checked_sub(level.sum, term);
            total_ = checked_sub(total_, term);
            term = 0;
            ++level.digit;
            return total_;
        }
        if (level.digit < highest_) { // one added node more
            const std::int64_t term = draw();
            level.sum = checked_add(level.sum, term);
            total_ = checked_add(total_, term);
            ++level.digit;
            return total_;
        }
        if (i + 1 == height_) [[unlikely]]
            break;
        // Carry: the level's nodes are replaced by one node above, less the subtracted ones.
        total_ = checked_sub(total_, level.sum);
        level.sum = 0;
        level.digit = -stack_size_;
        for (std::int64_t j = 0; j < stack_size_; ++j) {
            const std::int64_t term = draw();
            stack(i)[j] = term;
            level.sum = checked_add(level.sum, term);
        }
        total_ = checked_add(total_, level.sum);
    }
    throw_overflow();
}

template <class Visit>
void TreeNoise::for_each_integer(Visit&& visit) {
    visit(total_);
    for (int i = 0; i < height_; ++i) {
        visit(levels()[i].digit);
        visit(levels()[i].sum);
        for (std::int64_t j = 0; j < stack_size_ && i + 1 < height_; ++j)
            visit(stack(i)[j]);
    }
}

template <class Draw>
std::int64_t TreeNoise::sample(const DigitSystem& system, int height, std::int64_t t, Draw&& draw) {
    std::int64_t total = 0;
    for (int i = 0; i < height; ++i) {
        const std::int32_t digit = system.split(t);
        for (std::int32_t j = digit < 0 ? -digit : digit; j > 0; --j)
            total = checked_add<std::int64_t>(total, draw());
    }
    if (t != 0)
        throw_overflow();
    return total;
}

} // namespace dp_counter
