#include "core/hat/hat_variance.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/checkpoint.hpp"

namespace dp_counter {

namespace {

constexpr std::int64_t kSampledTicks = 64; ///< per cell, at most
constexpr std::int64_t kEnumerated = 4096;
constexpr double kUnit = 1.0 / (1 << kWeightBits);

/// The weights of a level's window as real numbers: of knot first + m.
struct Window {
    std::int64_t first;
    double weight[kHatWindow];

    [[nodiscard]] double operator()(std::int64_t knot) const noexcept {
        if (knot < first)
            return 1;
        return knot < first + kHatWindow ? weight[knot - first] : 0;
    }
};

/// Sums over the first children of a cell, of their shares and the products of their shares; each
/// child counts as its variance bears to that of its level's others.
struct ShareSums {
    double all, left, right, left_left, left_right, right_right;
};

/// The energy of one level, given its own weights and those of the level above.
class LevelEnergy {
public:
    LevelEnergy(const HatWeights& weights, int above, std::span<const double> nodes)
        : plan_(weights), above_(above), nodes_(nodes), here_(weights.level(above)),
          unit_(std::ldexp(1.0, -weights.lattice_bits())), share_sums_(weights.share_sums(above)) {}

    /// `passed` children count 1 and the others 0, except in their window (null: nowhere).
    [[nodiscard]] double operator()(std::int64_t passed, const Window* children,
                                    const Window& parents) const {
        double energy = 0;
        const std::int64_t from = std::max<std::int64_t>(parents.first - 1, here_.first_cell);
        const std::int64_t to = std::min(parents.first + kHatWindow - 1, here_.last_cell);
        for (std::int64_t cell = from; cell <= to; ++cell) {
            const std::int64_t first = here_.first_child(cell);
            const std::int64_t count = here_.end_child(cell) - first;
            const double x = parents(cell);
            const double y = parents(cell + 1);
            const ShareSums whole = sums(cell, count);
            energy +=
                whole.left_left * x * x + 2 * whole.left_right * x * y + whole.right_right * y * y;
            const std::int64_t ones = std::clamp<std::int64_t>(passed - first, 0, count);
            if (ones > 0) {
                const ShareSums part = sums(cell, ones);
                energy += part.all - 2 * (part.left * x + part.right * y);
            }
        }
        if (children == nullptr)
            return energy;
        std::int64_t cell = here_.cell_of(std::max<std::int64_t>(children->first, 0));
        for (int m = 0; m < kHatWindow; ++m) {
            const std::int64_t k = children->first + m;
            if (k < 0 || k >= here_.children)
                continue;
            while (k >= here_.end_child(cell))
                ++cell;
            const double mean = weighted_parents(k, cell, parents);
            const double step = k < passed ? 1 : 0;
            const double weight = children->weight[m];
            energy += relative_variance(k) * (weight - step) * (weight + step - 2 * mean);
        }
        return energy;
    }

private:
    /// The parents' weights at child k, which lies in this cell.
    [[nodiscard]] double weighted_parents(std::int64_t k, std::int64_t cell,
                                          const Window& parents) const {
        if (cell < 0)
            return parents(0);
        const double left = parents(cell);
        if (!here_.is_shared(cell))
            return left;
        return left + plan_.shares(above_, cell)[k - here_.start(cell)] * unit_ *
                          (parents(cell + 1) - left);
    }

    /// Of child k, as a part of what its level's nodes have as a rule.
    [[nodiscard]] double relative_variance(std::int64_t k) const {
        const std::int32_t left = plan_.left_of(above_ - 1, k);
        if (left == 0)
            return 1;
        if (!nodes_.empty())
            return nodes_[static_cast<std::size_t>(plan_.spec().scale_of(above_ - 1, left))] /
                   nodes_[static_cast<std::size_t>(above_ - 1)];
        const double whole = plan_.spec().fade_levels() << plan_.spec().fade_bits();
        const double share = (whole + left) / whole;
        return 1 / (share * share);
    }

    [[nodiscard]] ShareSums sums(std::int64_t cell, std::int64_t count) const {
        if (here_.fades(cell))
            return faded_sums(cell)[static_cast<std::size_t>(count)];
        const auto n = static_cast<double>(count);
        if (cell < 0)
            return {n, 0, n, 0, 0, n};
        if (!here_.is_shared(cell))
            return {n, n, 0, n, 0, 0};
        const double right = static_cast<double>(share_sums_[count].right) * unit_;
        const double right_right =
            static_cast<double>(share_sums_[count].right_right) * unit_ * unit_;
        return {n, n - right, right, n - 2 * right + right_right, right - right_right, right_right};
    }

    /// Of the first 0, 1, ... children of a fading cell; computed when they are first wanted.
    [[nodiscard]] const std::vector<ShareSums>& faded_sums(std::int64_t cell) const {
        faded_.resize(static_cast<std::size_t>(here_.last_cell + 1 - here_.fades_from));
        std::vector<ShareSums>& parts = faded_[static_cast<std::size_t>(cell - here_.fades_from)];
        if (!parts.empty())
            return parts;
        const std::int64_t first = here_.first_child(cell);
        ShareSums sum{};
        parts.push_back(sum);
        for (std::int64_t k = first; k < here_.end_child(cell); ++k) {
            const double n = relative_variance(k);
            const double right =
                here_.is_shared(cell) ? plan_.shares(above_, cell)[k - first] * unit_ : 0;
            const double left = 1 - right;
            sum.all += n;
            sum.left += n * left;
            sum.right += n * right;
            sum.left_left += n * left * left;
            sum.left_right += n * left * right;
            sum.right_right += n * right * right;
            parts.push_back(sum);
        }
        return parts;
    }

    const HatWeights& plan_;
    int above_;
    std::span<const double> nodes_;
    const HatWeightsLevel& here_;
    double unit_;
    const HatShareSum* share_sums_;
    mutable std::vector<std::vector<ShareSums>> faded_;
};

double top_energy(const HatWeights& weights, const Window& window) {
    const std::int64_t knots = weights.level(weights.height() - 1).knots;
    double energy = static_cast<double>(std::clamp<std::int64_t>(window.first, 0, knots));
    for (int m = 0; m < kHatWindow; ++m)
        if (window.first + m >= 0 && window.first + m < knots)
            energy += window.weight[m] * window.weight[m];
    return energy;
}

Window window_of(const HatWeights& weights, int l, const HatPosition& position) {
    Window window{position.level[l].first, {}};
    const double unit = std::ldexp(1.0, weights.lattice_bits() * l - 64);
    for (int m = 0; m < kHatWindow; ++m)
        window.weight[m] = static_cast<double>(position.level[l].weight[m]) * unit;
    return window;
}

/// The energies at step t for weights as located.
HatRowNorms energy_at(const HatWeights& weights, std::int64_t t, bool closing,
                      std::span<const double> nodes) {
    HatRowNorms energy{};
    const int top = weights.height() - 1;
    if (top == 0) {
        energy.level[0] = static_cast<double>(t);
        return energy;
    }
    HatPosition position;
    hat_locate(weights, t, closing, position);
    Window above = window_of(weights, 1, position);
    energy.level[0] = LevelEnergy(weights, 1, nodes)(t, nullptr, above);
    for (int l = 1; l < top; ++l) {
        const Window here = above;
        above = window_of(weights, l + 1, position);
        energy.level[l] = LevelEnergy(weights, l + 1, nodes)(here.first + kHatLeft, &here, above);
    }
    energy.level[top] = top_energy(weights, above);
    return energy;
}

/// How the steps within a cell are spread over its ticks: their number, and mean and standard
/// deviation of the fraction of the cell that has been passed.
struct Spread {
    double steps, mean, deviation;
};

/// Per class of cells of a level.
using Spreads = std::vector<Spread>;

Spreads spreads(const HatWeights& weights, int l, const Spreads& below) {
    const HatWeightsLevel& level = weights.level(l);
    Spreads result;
    for (std::int64_t c = 0; c < level.classes(); ++c) {
        const std::int64_t cell = level.cell_of_class(c);
        const std::int64_t ticks = level.ticks(cell);
        const auto n = static_cast<double>(ticks);
        double steps = 0;
        double first = 0;
        double second = 0;
        if (l == 1) {
            steps = n;
            first = n * 0.5;
            second = n * (1.0 / 3 - 1 / (12 * n * n));
        } else {
            const HatWeightsLevel& children = weights.level(l - 1);
            for (std::int64_t w = 0; w < ticks; ++w) {
                const Spread& tick =
                    below[static_cast<std::size_t>(children.class_of(level.start(cell) + w))];
                const double mean = (static_cast<double>(w) + tick.mean) / n;
                const double deviation = tick.deviation / n;
                steps += tick.steps;
                first += tick.steps * mean;
                second += tick.steps * (mean * mean + deviation * deviation);
            }
        }
        if (steps == 0) { // the last cell may have children without ticks
            result.push_back({0, 0, 0});
            continue;
        }
        const double mean = first / steps;
        result.push_back({steps, mean, std::sqrt(std::max(0.0, second / steps - mean * mean))});
    }
    return result;
}

/// The window of level l, fraction f of its tick w in a cell having passed; level 1 stands still.
Window window_in(const HatWeights& weights, int l, std::int64_t cell, std::int64_t w, double f) {
    const HatRow* const row = weights.rows(l, cell) + w;
    Window window{cell - kHatLeft, {}};
    for (int m = 0; m < kHatWindow; ++m) {
        const double from = row[0].weight[m] * kUnit;
        window.weight[m] = l == 1 ? from : from + (row[1].weight[m] * kUnit - from) * f;
    }
    return window;
}

/// Visits ticks 0 .. count - 1, or a sample of them: visit(w, how many ticks it stands for).
template <class Visit>
void for_each_tick(std::int64_t count, Visit&& visit) {
    if (count <= kSampledTicks) {
        for (std::int64_t w = 0; w < count; ++w)
            visit(w, 1.0);
        return;
    }
    for (std::int64_t i = 0; i < kSampledTicks; ++i) {
        const std::int64_t w = (2 * i + 1) * count / (2 * kSampledTicks);
        visit(w, static_cast<double>(count) / static_cast<double>(kSampledTicks));
    }
}

/// Sum of the energy of level l over the steps; `here` are the spreads of level l's ticks, that is
/// of the cells of level l - 1.
double total_energy(const HatWeights& weights, int l, const Spreads& ticks,
                    std::span<const double> nodes) {
    const int top = weights.height() - 1;
    const HatWeightsLevel& level = weights.level(l);
    // Of a tick w of a cell: the mean over its steps of visit(f), visit being quadratic in f.
    const auto mean_over_tick = [&](std::int64_t cell, std::int64_t w, auto&& visit) {
        if (l == 1)
            return visit(0.5);
        const Spread& tick =
            ticks[static_cast<std::size_t>(weights.level(l - 1).class_of(level.start(cell) + w))];
        return tick.steps * 0.5 *
               (visit(tick.mean - tick.deviation) + visit(tick.mean + tick.deviation));
    };
    const auto multiplicity = [](const HatWeightsLevel& of, std::int64_t c) {
        return static_cast<double>(of.cells_of_class(c));
    };
    double total = 0;
    if (l == top) {
        for (std::int64_t c = 0; c < level.classes(); ++c) {
            const std::int64_t cell = level.cell_of_class(c);
            double sum = 0;
            double steps = 0;
            for (std::int64_t w = 0; w < level.ticks(cell); ++w) {
                checkpoint();
                sum += mean_over_tick(cell, w, [&](double f) {
                    return top_energy(weights, window_in(weights, l, cell, w, f));
                });
                steps += mean_over_tick(cell, w, [](double) { return 1.0; });
            }
            // From a cell to the next one of the class the energy grows by 1: one more knot passed.
            const double n = multiplicity(level, c);
            total += n * sum + steps * n * (n - 1) / 2;
        }
        return total;
    }
    const HatWeightsLevel& above = weights.level(l + 1);
    const LevelEnergy energy(weights, l + 1, nodes);
    for (std::int64_t c = 0; c < above.classes(); ++c) {
        const std::int64_t parent = above.cell_of_class(c);
        double sum = 0;
        for_each_tick(above.ticks(parent), [&](std::int64_t v, double parent_ticks) {
            checkpoint();
            const std::int64_t cell = above.start(parent) + v;
            const std::int64_t count = level.ticks(cell);
            double inner = 0;
            for_each_tick(count, [&](std::int64_t w, double cell_ticks) {
                inner +=
                    cell_ticks * mean_over_tick(cell, w, [&](double f) {
                        const Window here = window_in(weights, l, cell, w, f);
                        const double passed =
                            (static_cast<double>(w) + f) / static_cast<double>(count);
                        return energy(cell, &here, window_in(weights, l + 1, parent, v, passed));
                    });
            });
            sum += parent_ticks * inner;
        });
        total += multiplicity(above, c) * sum;
    }
    return total;
}

double total_step_energy(const HatWeights& weights, std::span<const double> nodes) {
    const HatWeightsLevel& level = weights.level(1);
    const LevelEnergy energy(weights, 1, nodes);
    double total = 0;
    for (std::int64_t c = 0; c < level.classes(); ++c) {
        checkpoint();
        const std::int64_t cell = level.cell_of_class(c);
        double sum = 0;
        for (std::int64_t w = 0; w < level.ticks(cell); ++w)
            sum += energy(level.start(cell) + w + 1, nullptr, window_in(weights, 1, cell, w, 0));
        total += sum * static_cast<double>(level.cells_of_class(c));
    }
    return total;
}

/// The step of a great variance of hats, found from the bottom up: for every tick of every class of
/// cells, the place below it where the levels below have the greatest sum.
class MaxSearch {
public:
    MaxSearch(const HatWeights& weights, PrivacyUnit unit)
        : plan_(weights), nodes_(hat_node_variances(weights.spec(), unit)) {}

    std::int64_t find() {
        const int top = plan_.height() - 1;
        std::vector<Best> below;
        for (int l = 0; l < top; ++l)
            below = step_up(l, below);
        const HatWeightsLevel& level = plan_.level(top);
        double best = -1;
        std::int64_t step = 1;
        for (std::int64_t c = 0; c < level.classes(); ++c) {
            checkpoint();
            // The last cell of a class has the most knots to its left.
            const std::int64_t cell = level.cell_of_class(c) + level.cells_of_class(c) - 1;
            for (std::int64_t w = 0; w < level.ticks(cell); ++w) {
                const Best& tick = at(below, top, cell, w);
                const double value =
                    tick.value + variance(top) * top_energy(plan_, window_in(plan_, top, cell, w,
                                                                             tick.fraction));
                if (value > best) {
                    best = value;
                    step = first_step(top, level.start(cell) + w) + tick.steps;
                }
            }
        }
        return step;
    }

private:
    /// In one tick: the greatest sum of the levels below, the fraction of the tick at which it is
    /// reached, and the steps from the start of the tick to there.
    struct Best {
        double value, fraction;
        std::int64_t steps;
    };

    [[nodiscard]] const Best& at(const std::vector<Best>& of, int l, std::int64_t cell,
                                 std::int64_t w) const {
        return of[static_cast<std::size_t>(plan_.level(l).row_of(cell) + w)];
    }

    /// The step before the first one of a tick of level l.
    [[nodiscard]] std::int64_t first_step(int l, std::int64_t tick) const {
        for (int i = l - 1; i >= 1; --i)
            tick = plan_.level(i).start(tick);
        return tick;
    }

    /// Per tick of level l + 1, from those of level l.
    [[nodiscard]] std::vector<Best> step_up(int l, const std::vector<Best>& below) const {
        const HatWeightsLevel& above = plan_.level(l + 1);
        const LevelEnergy energy(plan_, l + 1, nodes_);
        std::vector<Best> result(static_cast<std::size_t>(above.classes() * above.stride));
        for (std::int64_t c = 0; c < above.classes(); ++c) {
            const std::int64_t parent = above.cell_of_class(c);
            for (std::int64_t v = 0; v < above.ticks(parent); ++v) {
                checkpoint();
                const std::int64_t cell = above.start(parent) + v;
                Best& best = result[static_cast<std::size_t>(above.row_of(parent) + v)];
                if (l == 0) {
                    const Window window = window_in(plan_, 1, parent, v, 0);
                    best = {variance(0) * energy(cell + 1, nullptr, window), 0.5, 1};
                    continue;
                }
                best.value = -1;
                const HatWeightsLevel& level = plan_.level(l);
                for_each_tick(level.ticks(cell), [&](std::int64_t w, double) {
                    const Best& tick = at(below, l, cell, w);
                    const double passed = (static_cast<double>(w) + tick.fraction) /
                                          static_cast<double>(level.ticks(cell));
                    const Window here = window_in(plan_, l, cell, w, tick.fraction);
                    const double value =
                        tick.value +
                        variance(l) *
                            energy(cell, &here, window_in(plan_, l + 1, parent, v, passed));
                    if (value > best.value)
                        best = {value, passed,
                                first_step(l, level.start(cell) + w) -
                                    first_step(l, level.start(cell)) + tick.steps};
                });
            }
        }
        return result;
    }

    [[nodiscard]] double variance(int l) const { return nodes_[static_cast<std::size_t>(l)]; }

    const HatWeights& plan_;
    std::vector<double> nodes_;
};

constexpr KnownEnergy kKnown[] = {
#include "core/hat/hat_energy_table.inc"
};

} // namespace

double HatRowNorms::variance(std::span<const double> nodes) const noexcept {
    double sum = 0;
    for (std::size_t l = 0; l < std::min(nodes.size(), std::size(level)); ++l)
        sum += level[l] * nodes[l]; // the scales after the levels' have no energy of their own
    return sum;
}

std::vector<double> hat_node_variances(const HatLevels& spec, PrivacyUnit unit) {
    std::vector<double> nodes;
    nodes.reserve(static_cast<std::size_t>(spec.scales()));
    for (int scale = 0; scale < spec.scales(); ++scale)
        nodes.push_back(hat_node_variance(spec, unit, scale));
    return nodes;
}

HatRowNorms hat_row_norms_at(const HatWeights& weights, std::int64_t t,
                             std::span<const double> nodes) {
    return energy_at(weights, t, weights.is_closing(t), nodes);
}

HatRowNorms hat_mean_row_norms(const HatWeights& weights, std::span<const double> nodes) {
    HatRowNorms energy{};
    if (weights.height() == 1) {
        energy.level[0] = 0.5 * (static_cast<double>(weights.horizon()) + 1);
        return energy;
    }
    energy.level[0] = total_step_energy(weights, nodes);
    Spreads ticks;
    for (int l = 1; l < weights.height(); ++l) {
        energy.level[l] = total_energy(weights, l, ticks, nodes);
        if (l < weights.height() - 1)
            ticks = spreads(weights, l, ticks);
    }
    // The last step, whose weights are not those of the tables.
    const std::int64_t last = weights.horizon();
    const HatRowNorms table = energy_at(weights, last, false, nodes);
    const HatRowNorms closing = energy_at(weights, last, weights.is_closing(last), nodes);
    for (int l = 0; l < weights.height(); ++l)
        energy.level[l] = (energy.level[l] + closing.level[l] - table.level[l]) /
                          static_cast<double>(weights.horizon());
    return energy;
}

double hat_variance_at(const HatWeights& weights, PrivacyUnit unit, std::int64_t t) {
    const std::vector<double> nodes = hat_node_variances(weights.spec(), unit);
    return hat_row_norms_at(weights, t, nodes).variance(nodes);
}

double hat_mse(const HatWeights& weights, PrivacyUnit unit) {
    const std::vector<double> nodes = hat_node_variances(weights.spec(), unit);
    return hat_mean_row_norms(weights, nodes).variance(nodes);
}

std::int64_t hat_peak(const HatWeights& weights, PrivacyUnit unit) {
    const HatLevels& spec = weights.spec();
    if (weights.height() == 1)
        return spec.horizon;
    const std::vector<double> nodes = hat_node_variances(spec, unit);
    double best = 0;
    std::int64_t peak = 1;
    const auto try_step = [&](std::int64_t t) {
        checkpoint();
        if (t < 1 || t > spec.horizon)
            return;
        const double variance = hat_row_norms_at(weights, t, nodes).variance(nodes);
        if (variance > best) {
            best = variance;
            peak = t;
        }
    };
    if (spec.horizon <= kEnumerated) {
        for (std::int64_t t = 1; t <= spec.horizon; ++t)
            try_step(t);
        return peak;
    }
    std::int64_t t = std::min(MaxSearch(weights, unit).find(), spec.horizon);
    try_step(t);
    // Uphill from there: shifts by up to one radix of ticks of each level, while that helps.
    for (bool better = true; better;) {
        better = false;
        std::int64_t size = 1;
        for (int l = 0; l < weights.height(); ++l) {
            const std::int64_t radix = l + 1 < weights.height() ? weights.level(l + 1).radix : 2;
            const std::int64_t reach = std::min(radix, kSampledTicks);
            const std::int64_t center = t;
            for (std::int64_t i = -reach; i <= reach; ++i) {
                const double before = best;
                try_step(center + i * size);
                if (best > before) {
                    t = center + i * size;
                    better = true;
                }
            }
            size *= radix;
            if (size > spec.horizon)
                break;
        }
    }
    return peak;
}

double hat_max_variance(const HatWeights& weights, PrivacyUnit unit) {
    const KnownEnergy* known = known_energy(weights.spec());
    if (known != nullptr && is_nearly_continuous(unit))
        return known->peak.variance(hat_node_variances(weights.spec(), unit));
    return hat_variance_at(weights, unit, hat_peak(weights, unit));
}

const KnownEnergy* known_energy(const HatLevels& spec) noexcept {
    const std::uint64_t wanted = fingerprint(spec);
    const auto* const found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                           [&](const auto& k) { return k.fingerprint == wanted; });
    return found != std::end(kKnown) ? found : nullptr;
}

} // namespace dp_counter
