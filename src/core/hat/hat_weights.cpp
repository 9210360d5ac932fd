#include "core/hat/hat_weights.hpp"

#include <algorithm>
#include <new>
#include <tuple>

#include "core/base/checkpoint.hpp"

namespace dp_counter {

namespace {

constexpr std::int64_t kOne = std::int64_t{1} << kWeightBits;

/// Cells at each end of a hat level whose rows differ from those of the cells between: the window
/// touches the first or the last knot.
constexpr std::int64_t kLeftCells = kHatLeft + 2;
constexpr std::int64_t kRightCells = kHatAhead + 1;

/// Arithmetic shift right by bits, left where bits is negative.
std::int64_t scaled(int128 value, int bits) noexcept {
    return static_cast<std::int64_t>(bits >= 0 ? value >> bits : value << -bits);
}

HatWeightsLevel lay_out(const HatLevels& spec, int l, const HatWeightsLevel* below) {
    const HatLevel& shape = spec.level[l - 1];
    HatWeightsLevel level{};
    level.knots = shape.knots;
    level.radix = shape.radix;
    level.offset = shape.offset;
    level.children = below != nullptr ? below->knots : spec.horizon;
    level.first_tick = below != nullptr ? below->first_cell : 0;
    level.end_tick = below != nullptr ? below->last_cell + 1 : level.children;
    level.first_cell = level.first_tick < 0 || level.offset > 0 ? -1 : 0;
    level.last_cell = std::min(shape.knots - 1, (level.children - 1 - level.offset) / level.radix);
    if (level.children <= level.offset) // no child reaches the first knot
        level.last_cell = -1;
    level.shared_cells = level.knots - 1;
    level.fades_from = level.last_cell + 1;
    level.fading_child = level.children;
    if (const int below_top = spec.height - 1 - l; below_top < spec.fade_levels()) {
        if (below_top == 0)
            ++level.shared_cells;
        const HatLevel& top = spec.level[spec.height - 2];
        level.fades_from =
            below_top == 0 ? top.knots - 1 : top.offset + top.radix * (top.knots - 1);
        level.fading_child = std::min(level.first_child(level.fades_from), level.children);
    }
    level.left_classes = kLeftCells;
    level.right_classes = std::max(kRightCells, level.last_cell - level.fades_from + kRightCells);
    const std::int64_t cells = level.last_cell - level.first_cell + 1;
    if (cells <= level.left_classes + level.right_classes + 1) {
        level.left_classes = cells;
        level.right_classes = 0;
    }
    const std::int64_t last = level.children - level.first_child(level.last_cell);
    const std::int64_t longest = std::max({level.radix, level.offset + 1, last});
    level.stride = longest + 1;
    level.first_reach = kHatAhead;
    level.queue = std::min(level.children, (1 + kHatAhead) * longest);
    level.opens = level.first_tick;
    return level;
}

/// Lets a stream of hats begin with few nodes. The knots near its start hardly count at first, but
/// each would bring all its children: so a level waits until the one below enters its second cell,
/// and level 1 looks one cell ahead in its first one, not two. Nothing waits for what the stream
/// does not come to: at its end all knots count.
void begin_late(std::span<HatWeightsLevel> levels, std::int64_t last_tick) {
    if (levels.size() > 1 && levels[0].cell_of(last_tick) > levels[0].first_cell)
        levels[0].first_reach = 1;
    std::size_t first = 1; // of those that wait: with a level all above it
    for (std::size_t l = 0; l < levels.size(); ++l) {
        const HatWeightsLevel& level = levels[l];
        if (last_tick == level.first_tick || level.ticks(level.first_cell) < 2)
            first = l + 1;
        last_tick = level.cell_of(last_tick);
    }
    for (std::size_t l = first; l < levels.size(); ++l)
        ++levels[l].opens;
}

/// In the last cell of a fading top.
std::int64_t fading_children(const HatWeightsLevel& level) {
    const std::int64_t cell = level.knots - 1;
    return level.is_shared(cell) && cell <= level.last_cell
               ? level.end_child(cell) - level.first_child(cell)
               : 0;
}

/// Lays out all levels; the result is the size of the block. The rows, most of which a short stream
/// never comes to, lie behind everything else.
std::size_t lay_out(const HatLevels& spec, HatWeightsLevel* levels) {
    const auto count = static_cast<std::size_t>(spec.height - 1);
    std::size_t end = sizeof(HatWeights) + count * sizeof(HatWeightsLevel);
    const auto take = [&](std::int64_t number, std::size_t size) { // a multiple of 8 bytes
        const std::size_t begin = end;
        end += (static_cast<std::size_t>(number) * size + 7) / 8 * 8;
        return static_cast<std::int64_t>(begin);
    };
    for (int l = 1; l < spec.height; ++l) {
        HatWeightsLevel& level = levels[l - 1];
        level = lay_out(spec, l, l > 1 ? &levels[l - 2] : nullptr);
        level.shares = take(level.radix + fading_children(level), sizeof(std::int32_t));
        level.sums = take(level.radix + 1, sizeof(HatShareSum));
        level.left = take(level.children - level.fading_child, sizeof(std::int32_t));
    }
    for (HatWeightsLevel& level : std::span(levels, count))
        level.rows = take(level.classes() * level.stride, sizeof(HatRow));
    begin_late({levels, count}, spec.horizon - 1);
    return end;
}

/// The least-squares choice of one level's weights, in integers: whatever it returns, the mechanism
/// is private and unbiased, so the rounding here only has to be the same on every machine.
///
/// With the window's knots as unknowns and the others at 1 and 0 it minimizes the sum over the
/// children of (lambda(child) - interpolated lambda(child))^2, the variance of this level's
/// children, plus the sum over the knots of (lambda(knot) - expected)^2, what the level above will
/// add: nothing is expected of the top, and elsewhere a line through 1/2 at the stream's place.
/// Each square counts as much as the node's noise has variance.
class WindowSolver {
public:
    WindowSolver(const HatWeights& weights, int l)
        : plan_(weights), l_(l), here_(weights.level(l)),
          above_(l < weights.height() - 1 ? &weights.level(l + 1) : nullptr),
          one_(std::int64_t{1} << weights.lattice_bits()),
          fades_(weights.spec().end == HatLevels::End::fading), share_sums_(weights.share_sums(l)) {
    }

    /// Prepares for the rows of one cell.
    void enter(std::int64_t cell) {
        const bool is_next = has_entered_ && cell == cell_ + 1;
        has_entered_ = true;
        cell_ = cell;
        is_top_ = above_ == nullptr || above_->is_waiting(cell);
        for (int i = 0; i <= kHatWindow; ++i)
            whole_[i] = is_next && i < kHatWindow ? whole_[i + 1] : sums(cell - kHatLeft - 1 + i);
        part_.clear();
        if (here_.fades(cell))
            (void)faded_sums(cell, here_.end_child(cell) - here_.first_child(cell), &part_);
        from_ = static_cast<int>(std::max<std::int64_t>(0, kHatLeft - cell));
        end_ = from_;
        for (int m = from_; m < kHatWindow; ++m) {
            const std::int64_t knot = cell - kHatLeft + m;
            if (knot >= here_.knots || knot > here_.drawn_to(cell))
                break;
            end_ = m + 1;
            const Sums& before = whole_[m];
            const Sums& behind = whole_[m + 1];
            // Cells of one class have knots of one scale on the level below the top alone.
            own_[m] = one_ * one_ * (l_ + 2 == plan_.height() ? noise_of(l_, knot) : unit());
            const std::int64_t diagonal = before.right_right + behind.left_left + own_[m];
            offset_[m] = before.left_right << kGuard; // with the knot to the left
            pivot_[m] = diagonal << kGuard;
            factor_[m] = 0;
            if (m > from_) {
                factor_[m] = scaled(static_cast<int128>(offset_[m]) * inverse_[m - 1],
                                    kInverseBits - kFactorBits);
                pivot_[m] -= scaled(static_cast<int128>(factor_[m]) * offset_[m], kFactorBits);
            }
            inverse_[m] = (std::int64_t{1} << kInverseBits) / pivot_[m];
        }
        // The cells that have been passed; the knot left of the window is fixed at 1.
        for (int m = 0; m < kHatWindow; ++m)
            passed_[m] = m <= kHatLeft ? whole_[m].right * kOne * one_ : 0;
        for (int m = 0; m < kHatLeft; ++m)
            passed_[m] += whole_[m + 1].left * kOne * one_;
        if (cell - kHatLeft - 1 >= 0)
            passed_[0] -= whole_[0].left_right * kOne;
    }

    /// The row at which `passed` children of the cell have been passed and the children's weights
    /// differ from those of a step there by extra[i], at the children first_extra + i, none of
    /// which lies more than kHatLeft + 1 before the cell. `place` is the stream's place in the
    /// cell, in units of half children.
    [[nodiscard]] HatRow solve(std::int64_t passed, std::int64_t place, std::int64_t first_extra,
                               std::span<const std::int64_t> extra) const {
        std::int64_t change[kHatWindow] = {}; // of the right-hand side, by share
        const auto add = [&](std::int64_t knot, std::int64_t value) {
            const std::int64_t m = knot - (cell_ - kHatLeft);
            if (m >= 0 && m < kHatWindow)
                change[m] += value;
        };
        const Sums part =
            part_.empty() ? sums(cell_, passed) : part_[static_cast<std::size_t>(passed)];
        change[kHatLeft] = part.left * kOne;
        change[kHatLeft + 1] = part.right * kOne;
        std::int64_t cell = std::max(here_.first_cell, cell_ - kHatLeft - 1);
        for (std::size_t i = 0; i < extra.size(); ++i) {
            const std::int64_t child = first_extra + static_cast<std::int64_t>(i);
            if (child < 0 || child >= here_.children || extra[i] == 0)
                continue;
            while (cell < here_.last_cell && child >= here_.first_child(cell + 1))
                ++cell;
            const std::int64_t weight = noise_of(l_ - 1, child) * extra[i];
            plan_.for_each_parent(l_, child, cell, [&](std::int64_t knot, std::int32_t share) {
                add(knot, share * weight);
            });
        }

        std::int64_t value[kHatWindow];
        for (int m = from_; m < end_; ++m) {
            // From shares to squares of shares.
            const std::int64_t right_side =
                passed_[m] + change[m] * one_ + own_[m] * expected(m, place);
            value[m] = right_side << kGuard;
            if (m > from_)
                value[m] -= scaled(static_cast<int128>(factor_[m]) * value[m - 1], kFactorBits);
        }
        HatRow row{};
        std::int64_t coupled = 0; // to the knot on the right
        for (int m = end_ - 1; m >= from_; --m) {
            const std::int64_t weight =
                scaled(static_cast<int128>(value[m] - coupled) * inverse_[m], kInverseBits);
            coupled = offset_[m] * weight;
            row.weight[m] = static_cast<std::int32_t>(weight);
        }
        return row;
    }

private:
    static constexpr int kGuard = 12;
    static constexpr int kInverseBits = 60;
    static constexpr int kFactorBits = 30;
    static constexpr std::int64_t kFadeUnit = 32;

    struct Sums {
        std::int64_t left, right, left_left, left_right, right_right;
    };

    /// Sums over the first `count` children of a cell of the shares of the knots left and right of
    /// it and of their products.
    [[nodiscard]] Sums sums(std::int64_t cell, std::int64_t count) const {
        const std::int64_t n = count * unit();
        if (cell < 0)
            return {0, n * one_, 0, 0, n * one_ * one_};
        if (!here_.is_shared(cell))
            return {n * one_, 0, n * one_ * one_, 0, 0};
        const std::int64_t right = share_sums_[count].right * unit();
        const std::int64_t right_right = share_sums_[count].right_right * unit();
        const std::int64_t left = n * one_ - right;
        const std::int64_t left_right = right * one_ - right_right;
        return {left, right, left * one_ - left_right, left_right, right_right};
    }
    /// The same for a cell whose children have noise of several scales; `parts` takes the sums over
    /// the first 0, 1, ... children.
    [[nodiscard]] Sums faded_sums(std::int64_t cell, std::int64_t count,
                                  std::vector<Sums>* parts) const {
        Sums sum{};
        for (std::int64_t w = 0;; ++w) {
            if (parts != nullptr)
                parts->push_back(sum);
            if (w == count)
                return sum;
            const std::int64_t n = noise_of(l_ - 1, here_.first_child(cell) + w);
            const std::int64_t right = here_.is_shared(cell) ? plan_.shares(l_, cell)[w] : 0;
            const std::int64_t left = one_ - right;
            sum.left += n * left;
            sum.right += n * right;
            sum.left_left += n * left * left;
            sum.left_right += n * left * right;
            sum.right_right += n * right * right;
        }
    }
    [[nodiscard]] Sums sums(std::int64_t cell) const {
        if (cell < -1 || cell > here_.last_cell || (cell == -1 && here_.offset == 0))
            return {};
        const std::int64_t count = here_.end_child(cell) - here_.first_child(cell);
        return here_.fades(cell) ? faded_sums(cell, count, nullptr) : sums(cell, count);
    }

    /// How much noise, in variance, a node has, in units such that most have unit().
    [[nodiscard]] std::int64_t unit() const noexcept { return fades_ ? kFadeUnit : 1; }
    [[nodiscard]] std::int64_t noise_of(int l, std::int64_t node) const noexcept {
        const std::int64_t left = fades_ ? plan_.left_of(l, node) : 0;
        if (left == 0)
            return unit();
        const std::int64_t whole = plan_.spec().fade_levels() << plan_.spec().fade_bits();
        return kFadeUnit * whole * whole / ((whole + left) * (whole + left));
    }

    /// What the level above is expected to make of the knot in window slot m, in units of 2^-16.
    [[nodiscard]] std::int64_t expected(int m, std::int64_t place) const {
        if (is_top_)
            return 0;
        const std::int64_t distance =
            std::int64_t{2} * (m - kHatLeft) * here_.radix - place; // in half children
        return kOne / 2 - distance * kOne / (4 * here_.radix * above_->radix);
    }

    const HatWeights& plan_;
    int l_;
    const HatWeightsLevel& here_;
    const HatWeightsLevel* above_; ///< null at the top
    std::int64_t one_;
    bool fades_;
    const HatShareSum* share_sums_;

    bool has_entered_ = false;
    std::int64_t cell_ = 0;
    bool is_top_ = false;                  ///< the level above counts nothing, or only begins to
    Sums whole_[kHatWindow + 1] = {};      ///< of the cells from cell_ - kHatLeft - 1 on
    std::vector<Sums> part_;               ///< of the first children of a fading cell
    int from_ = 0;                         ///< of the window: the first knot that exists
    int end_ = 0;                          ///< and behind the last one that may have a weight
    std::int64_t passed_[kHatWindow] = {}; ///< what the passed cells add to the right-hand side
    std::int64_t own_[kHatWindow] = {};
    std::int64_t offset_[kHatWindow] = {};
    std::int64_t pivot_[kHatWindow] = {};
    std::int64_t inverse_[kHatWindow] = {};
    std::int64_t factor_[kHatWindow] = {};
};

} // namespace

std::size_t HatWeights::bytes(const HatLevels& spec) {
    HatWeightsLevel levels[HatLevels::kMaxHeight];
    return lay_out(spec, levels);
}

HatWeights* HatWeights::create(void* block, const HatLevels& spec) {
    auto* weights = new (block) HatWeights;
    weights->spec_ = spec;
    lay_out(spec, reinterpret_cast<HatWeightsLevel*>(weights + 1));
    for (int l = spec.height - 1; l >= 1; --l) {
        weights->fill_shares(l);
        weights->fill_left(l);
    }
    return weights;
}

/// w / radix, rounded to the lattice.
void HatWeights::fill_shares(int l) {
    const HatWeightsLevel& here = level(l);
    auto* const share = reinterpret_cast<std::int32_t*>(bytes_at(here.shares));
    auto* const sum = reinterpret_cast<HatShareSum*>(bytes_at(here.sums));
    sum[0] = {0, 0};
    for (std::int64_t w = 0; w < here.radix; ++w) {
        const std::int64_t twice = (w << lattice_bits()) * 2;
        const std::int64_t value = (twice + here.radix) / (2 * here.radix);
        share[w] = static_cast<std::int32_t>(value);
        sum[w + 1] = {sum[w].right + value, sum[w].right_right + value * value};
    }
    const std::int64_t fading = fading_children(here); // to 1, half a child behind the last one
    for (std::int64_t w = 0; w < fading; ++w) {
        const std::int64_t units =
            (((4 * w) << spec_.fade_bits()) + 2 * fading - 1) / (4 * fading - 2);
        share[here.radix + w] =
            static_cast<std::int32_t>(units << (lattice_bits() - spec_.fade_bits()));
    }
}

/// After the shares of all levels and what is left to the level above.
void HatWeights::fill_left(int l) {
    const HatWeightsLevel& here = level(l);
    auto* const left = reinterpret_cast<std::int32_t*>(bytes_at(here.left));
    for (std::int64_t k = here.fading_child; k < here.children; ++k) {
        std::int32_t sum = l + 1 == height() ? std::int32_t{1} << lattice_bits() : 0;
        for_each_parent(l, k, [&](std::int64_t knot, std::int32_t share) {
            sum += l + 1 == height() ? -share : share * left_of(l, knot);
        });
        left[k - here.fading_child] =
            l + 1 == height() ? sum >> (lattice_bits() - spec_.fade_bits()) : sum >> lattice_bits();
    }
}

void HatWeights::make_rows(int l, bool at_end) {
    HatWeightsLevel& here = level(l);
    const std::int64_t behind_shared = std::min(here.left_classes + 1, here.classes());
    const std::int64_t first_class = at_end ? behind_shared : 0;
    const std::int64_t end_class = at_end ? here.classes() : behind_shared;
    WindowSolver solver(*this, l);
    for (std::int64_t c = first_class; c < end_class; ++c) {
        checkpoint();
        const std::int64_t cell = here.cell_of_class(c);
        solver.enter(cell);
        HatRow* const row = rows_of_class(l, c);
        std::fill_n(row, here.stride, HatRow{});
        const std::int64_t start = here.start(cell);
        const std::int64_t first_child = here.first_child(cell);
        const std::int64_t ticks = here.ticks(cell);
        if (l == 1) { // the step of the tick has been passed
            for (std::int64_t w = 0; w < ticks; ++w)
                row[w] = solver.solve(w + 1, 2 * w + 1, 0, {});
            continue;
        }
        // The start of a tick is the start of a cell of the level below: between two of its rows.
        const HatWeightsLevel& below = level(l - 1);
        for (std::int64_t w = 0; w <= ticks; ++w) {
            const std::int64_t tick = start + w;
            if (here.is_waiting(tick)) // a row stands for the begin of its tick
                continue;
            std::int64_t weight[kHatWindow + 1]; // of the children from tick - kHatLeft - 1, twice
            if (tick == here.first_tick) {
                std::fill(std::begin(weight), std::end(weight), 0);
            } else if (tick == here.end_tick) {
                std::fill(std::begin(weight), std::end(weight), 2 * kOne);
            } else {
                const std::int64_t last = below.ticks(tick - 1) - (l == 2 ? 1 : 0);
                const HatRow& before = rows(l - 1, tick - 1)[last];
                const HatRow& behind = rows(l - 1, tick)[0];
                weight[0] = before.weight[0] + kOne;
                for (int m = 1; m < kHatWindow; ++m)
                    weight[m] = before.weight[m] + behind.weight[m - 1];
                weight[kHatWindow] = behind.weight[kHatWindow - 1];
            }
            const std::int64_t passed =
                std::clamp<std::int64_t>(tick - first_child, 0, here.end_child(cell) - first_child);
            const std::int64_t step = first_child + passed; // children before it have been passed
            std::int64_t extra[kHatWindow + 1];
            for (int m = 0; m <= kHatWindow; ++m)
                extra[m] = weight[m] / 2 - (tick - kHatLeft - 1 + m < step ? kOne : 0);
            row[w] = solver.solve(passed, 2 * (tick - here.offset - cell * here.radix),
                                  tick - kHatLeft - 1, extra);
        }
    }
    here.has_rows[at_end] = true; // unless interrupted
}

std::vector<HatTerm> hat_difference(const HatWeights& weights, std::int64_t since, std::int64_t t,
                                    std::int32_t times, std::int32_t by) {
    std::vector<HatTerm> terms;
    terms.reserve(512);
    const auto add_row = [&](std::int64_t at, std::int32_t factor) {
        if (at > 0)
            hat_weights(weights, at, [&](int level, std::int64_t node, int128 coefficient) {
                terms.push_back({level, node, coefficient * factor});
            });
    };
    add_row(t, by);
    const auto row = static_cast<std::ptrdiff_t>(terms.size());
    add_row(since, -times);
    const auto place = [](const HatTerm& term) { return std::tuple(term.level, term.node); };
    std::ranges::inplace_merge(terms, terms.begin() + row, {}, place);
    auto end = terms.begin();
    for (const HatTerm& term : terms)
        if (end != terms.begin() && place(*(end - 1)) == place(term))
            (end - 1)->coefficient += term.coefficient;
        else
            *end++ = term;
    terms.erase(end, terms.end());
    std::erase_if(terms, [](const HatTerm& term) { return term.coefficient == 0; });
    return terms;
}

HatRamp hat_ramp(const HatRow& from, const HatRow& to, const HatProgress& progress,
                 int bits) noexcept {
    HatRamp ramp;
    for (int m = 0; m < kHatWindow; ++m) {
        const std::int64_t step = to.weight[m] - from.weight[m];
        ramp.base[m] = (static_cast<std::int64_t>(from.weight[m]) << bits) +
                       scaled(static_cast<int128>(step) * progress.base, 32 - bits);
        ramp.slope[m] = scaled(static_cast<int128>(step) * progress.half_step, 32 - bits);
    }
    return ramp;
}

void hat_locate(const HatWeights& weights, std::int64_t t, bool closing, HatPosition& position) {
    const int q = weights.lattice_bits();
    std::int64_t tick = t - 1;
    HatProgress progress{};
    std::int64_t leaf_phase = 0;
    for (int l = 1; l < weights.height(); ++l) {
        const HatWeightsLevel& level = weights.level(l);
        const std::int64_t cell = level.cell_of(tick);
        const std::int64_t w = tick - level.start(cell);
        const HatRow* const row = weights.rows(l, cell) + w;
        HatPosition::Level& out = position.level[l];
        out.first = cell - kHatLeft;
        if (closing) {
            for (int128& weight : out.weight)
                weight = int128{1} << (64 - q * l);
        } else if (l == 1) {
            for (int m = 0; m < kHatWindow; ++m)
                out.weight[m] = static_cast<int128>(row->weight[m]) << (48 - q);
        } else {
            const HatRamp ramp = hat_ramp(row[0], row[1], progress, hat_ramp_bits(q, l));
            for (int m = 0; m < kHatWindow; ++m)
                out.weight[m] = (ramp.base[m] + static_cast<int128>(leaf_phase) * ramp.slope[m])
                                << hat_ramp_shift(q, l);
        }
        if (l == 1) {
            progress = HatProgress::of_leaf_cell(level.ticks(cell));
            leaf_phase = 2 * w + 1;
        } else {
            progress = progress.above(w, level.ticks(cell));
        }
        tick = cell;
    }
}

} // namespace dp_counter
