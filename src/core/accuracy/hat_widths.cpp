#include "core/accuracy/hat_widths.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/accuracy/least_width.hpp"
#include "core/base/checkpoint.hpp"

namespace dp_counter {

namespace {

constexpr int kLanes = 4;
constexpr double kWeightUnit = 1.0 / (1 << kWeightBits);

/// How far the weights that hat_locate() rounds down may be from the straight line, between rows
/// that differ by `difference` at most.
double rounding_of(const HatWeights& weights, int l, double difference) {
    const double phases = 2.0 * static_cast<double>(weights.level(1).stride) + 4;
    const int bits = kWeightBits + hat_ramp_bits(weights.lattice_bits(), l);
    return phases * (std::ldexp(1, -bits) + std::ldexp(difference, -30));
}

double greatest_difference(const HatRow& from, const HatRow& to) {
    double greatest = 0;
    for (int m = 0; m < kHatWindow; ++m)
        greatest = std::max(greatest, std::abs(kWeightUnit * (to.weight[m] - from.weight[m])));
    return greatest;
}

/// The sum of the levels `from` .. `to`.
NoiseSum noise_of(const HatWeights& weights, PrivacyUnit unit, std::int64_t t,
                  const HatPosition& position, int from, int to) {
    NoiseSum sum{{}, int128{1} << 64};
    sum.terms.reserve(512);
    for (int l = from; l <= to; ++l) {
        const LaplaceScale usual = hat_scale(weights.spec(), unit, l);
        const auto add = [&](int, std::int64_t node, int128 coefficient) {
            const int scale = weights.scale_of(l, node);
            sum.terms.push_back(
                {coefficient, scale == l ? usual : hat_scale(weights.spec(), unit, scale), 1});
        };
        hat_weights_of_level(weights, t, position, l, add);
    }
    return sum;
}

/// Weights of a level on the line from a row to the next.
void place_between(const HatWeights& weights, std::int64_t cell, std::int64_t tick, int l, double u,
                   HatPosition& position) {
    const HatRow* const rows = weights.rows(l, cell) + tick;
    const int q = weights.lattice_bits();
    HatPosition::Level& out = position.level[l];
    out.first = cell - kHatLeft;
    for (int m = 0; m < kHatWindow; ++m) {
        const double weight = rows[0].weight[m] + u * (rows[1].weight[m] - rows[0].weight[m]);
        out.weight[m] = static_cast<int128>(std::llround(std::ldexp(weight, hat_ramp_bits(q, l))))
                        << hat_ramp_shift(q, l);
    }
}

/// start + sum of term[k - 1] sin(k x), k = 1 .. count, a multiple of kLanes; and its derivative
/// with respect to x/step.
Inversion::Value sum_of_sines(const double* term, int count, double x, double step, double start) {
    double sine[kLanes];
    double cosine[kLanes];
    for (int i = 0; i < kLanes; ++i) {
        sine[i] = i == 0 ? std::sin(x) : sine[i - 1] * cosine[0] + cosine[i - 1] * sine[0];
        cosine[i] = i == 0 ? std::cos(x) : cosine[i - 1] * cosine[0] - sine[i - 1] * sine[0];
    }
    const double turn_sine = sine[kLanes - 1];
    const double turn_cosine = cosine[kLanes - 1];
    double sum[kLanes] = {start};
    double slope[kLanes] = {start / x};
    for (int k = 0; k < count; k += kLanes)
        for (int i = 0; i < kLanes; ++i) {
            sum[i] += term[k + i] * sine[i];
            slope[i] += term[k + i] * cosine[i] * (k + i + 1);
            const double next = sine[i] * turn_cosine + cosine[i] * turn_sine;
            cosine[i] = cosine[i] * turn_cosine - sine[i] * turn_sine;
            sine[i] = next;
        }
    return {sum[0] + sum[1] + (sum[2] + sum[3]),
            (slope[0] + slope[1] + (slope[2] + slope[3])) * step};
}

void append(NoiseSum& sum, const NoiseSum& carried) {
    for (NoiseTerm term : carried.terms) {
        term.coefficient *= sum.denominator / carried.denominator;
        sum.terms.push_back(term);
    }
}

} // namespace

HatWidths::HatWidths(const HatWeights& weights, PrivacyUnit unit, NoiseSum carried,
                     double confidence)
    : unit_(unit), carried_(std::move(carried)), confidence_(confidence),
      tolerance_(std::min(1e-7, (1 - confidence) / 100)) {
    const int top = weights.height() - 1;
    if (top < 2)
        return;
    const std::int64_t pairs = weights.level(1).radix * weights.level(2).radix;
    if (pairs > kManySlots || weights.horizon() < 8 * pairs) // too little would be shared
        return;
    for (const int looked_at : {12, 19}) // steps at like places of their cells may mislead
        if (prepare(weights, looked_at))
            return;
    factors_ = {};
    period_ = 0;
}

bool HatWidths::prepare(const HatWeights& weights, int looked_at) {
    constexpr double kRoom = 1.15; // over the widest of the steps looked at
    const int top = weights.height() - 1;
    std::optional<CharacteristicFunction> widest;
    for (int i = 1; i < looked_at; ++i) {
        HatPosition position;
        const std::int64_t t = 1 + (weights.horizon() - 1) / looked_at * i;
        hat_locate(weights, t, false, position);
        NoiseSum sum = noise_of(weights, unit_, t, position, 0, top);
        append(sum, carried_);
        const CharacteristicFunction phi(sum);
        if (!widest || phi.variance() > widest->variance())
            widest = phi;
    }
    const CharacteristicFunction::Tail tail = widest->tail(tolerance_ / 4);
    const CharacteristicFunction::Tail wide = widest->tail(1 - confidence_);
    if (!(tail.radius < 0x1p40)) // far beyond what fits a mechanism that fits
        return false;
    eta_ = std::max(0.125, tolerance_ * std::sqrt(widest->variance()));
    if (eta_ > 0.5) // one more or less could not be told apart
        return false;
    rate_ = tail.rate;
    reach_ = std::ceil(std::min(kRoom * wide.radius, 0.6 * tail.radius)) + 2;
    period_ = reach_ + eta_ + kRoom * tail.radius;
    most_log_moment_ = // for Chernoff's bound on what lies beyond the period
        rate_ * (period_ - reach_ - eta_) - std::log(2 / (tolerance_ / 4)) - 0.01;
    step_ = 2 * std::numbers::pi / period_;
    terms_ = 0;
    factors_.clear();
    factors_.resize(static_cast<std::size_t>(top));
    ends_.assign(static_cast<std::size_t>(top), {});
    for (std::size_t i = 0; i < factors_.size(); ++i)
        factors_[i].resize(static_cast<std::size_t>(i < 2 ? kManySlots : kFewSlots));
    return at(weights, weights.horizon() / 5 * 2) && at(weights, weights.horizon() / 5 * 4);
}

void HatWidths::fill_leaves(const HatWeights& weights, std::int64_t t, Factor& out) const {
    HatPosition position;
    hat_locate(weights, t, false, position);
    NoiseSum sum = noise_of(weights, unit_, t, position, 0, 1);
    append(sum, carried_);
    const CharacteristicFunction phi(sum);
    constexpr std::int64_t kBudget = 1'000'000;
    const Inversion inversion = Inversion::part(phi, eta_, period_, {reach_, tolerance_, kBudget});
    out.log_moment = phi.log_moment(rate_);
    out.value.assign(kTerms, 0.0);
    double last = 0;
    inversion.for_each_term([&](double k, double coefficient) {
        last = k;
        if (k <= kTerms)
            out.value[static_cast<std::size_t>(k) - 1] = coefficient;
    });
    if (inversion.complete() && last <= kTerms)
        out.terms = (static_cast<int>(last) + kLanes - 1) / kLanes * kLanes; // the rest is 0
}

HatWidths::Point HatWidths::point(const HatWeights& weights, std::int64_t t, const Place* places,
                                  int l, double u, int terms) const {
    HatPosition position;
    place_between(weights, places[l].cell, places[l].tick, l, u, position);
    if (l != weights.height() - 1) {
        const auto ticks = static_cast<double>(weights.level(l).ticks(places[l].cell));
        place_between(weights, places[l + 1].cell, places[l + 1].tick, l + 1,
                      (static_cast<double>(places[l].tick) + u) / ticks, position);
    }
    const NoiseSum sum = noise_of(weights, unit_, t, position, l, l);
    const CharacteristicFunction phi(sum);
    Point result{phi.log_moment(rate_), 0, {}};
    for (const NoiseTerm& term : sum.terms)
        result.sizes += std::ldexp(std::abs(static_cast<double>(term.coefficient)), -64);
    for (int k = 0; k < terms; k += CharacteristicFunction::kBatch)
        phi.evaluate((k + 1) * step_, step_, std::min(terms - k, CharacteristicFunction::kBatch),
                     result.g + k);
    for (int k = 0; k < terms; ++k)
        result.g[k] = std::log(result.g[k]);
    return result;
}

void HatWidths::fill_above(const HatWeights& weights, std::int64_t t, const Place* places, int l,
                           int terms, Factor& out) {
    const bool is_top = l == weights.height() - 1;
    const auto ticks = static_cast<double>(weights.level(l).ticks(places[l].cell));
    End& last = ends_[static_cast<std::size_t>(l - 1)];
    const bool goes_on = last.row + 1 == out.row && last.above == out.above && last.terms >= terms;
    const Point from = goes_on ? last.point : point(weights, t, places, l, 0, terms);
    const Point middle = point(weights, t, places, l, 0.5, terms);
    const Point to = point(weights, t, places, l, 1, terms);
    last = {out.row, out.above, terms, to};
    out.terms = terms;
    out.log_moment = std::max(from.log_moment, to.log_moment); // convex in u
    out.value.resize(3 * static_cast<std::size_t>(terms));
    double* const value = out.value.data();
    for (int k = 0; k < terms; ++k) {
        value[k] = from.g[k];
        value[terms + k] = 4 * middle.g[k] - 3 * from.g[k] - to.g[k];
        value[2 * terms + k] = 2 * (from.g[k] + to.g[k]) - 4 * middle.g[k];
    }

    // A parabola through 0, 1/2 and 1 is off by at most max abs(third derivative) / (72 sqrt(3));
    // the argument of the sine is theta/2 times the coefficient, on the level's lattice.
    const HatRow* const row = weights.rows(l, places[l].cell) + places[l].tick;
    const HatRow* const above =
        is_top ? nullptr : weights.rows(l + 1, places[l + 1].cell) + places[l + 1].tick;
    // No node of the level has more noise than this.
    const double sinh = std::sinh(0.5 / hat_scale(weights.spec(), unit_, l).value());
    const double kappa = 1 / (sinh * sinh);
    const double lattice = std::ldexp(1, -weights.lattice_bits() * l);
    const double rise = is_top ? 0 : greatest_difference(above[0], above[1]);
    const double b = rise / ticks; // of what is taken from the level above
    const std::int64_t children = is_top ? 0 : (kHatWindow + 1) * weights.level(l + 1).stride;
    double cubes = static_cast<double>(children) * b * b * b;
    for (int m = 0; m < kHatWindow; ++m) {
        const double a = b + kWeightUnit * std::abs(row[1].weight[m] - row[0].weight[m]);
        cubes += a * a * a;
    }
    out.cubic = cubes * lattice * lattice * lattice * 4 * kappa * std::sqrt(kappa + 1) / 8 /
                (72 * std::numbers::sqrt3);
    const double rounding = rounding_of(weights, l, greatest_difference(row[0], row[1])) +
                            (is_top ? 0 : rounding_of(weights, l + 1, rise));
    out.square = 0.5 * kappa * lattice * (from.sizes + to.sizes) * rounding; // convex as well
}

HatWidths::Factor& HatWidths::factor(const HatWeights& weights, std::int64_t t, const Place* places,
                                     int l, int terms) {
    const bool is_top = l == weights.height() - 1;
    const auto row_of = [&](int at) {
        return weights.level(at).row_of(places[at].cell) + places[at].tick;
    };
    const std::int64_t row = row_of(l);
    const std::int64_t above = is_top ? places[l].cell : row_of(l + 1);
    std::vector<Factor>& slots = factors_[static_cast<std::size_t>(l - 1)];
    Factor& found =
        slots[static_cast<std::uint64_t>(row + above * weights.level(l).radix) % slots.size()];
    if (found.row != row || found.above != above || found.terms < terms) {
        Factor fresh; // complete before it is kept
        fresh.row = row;
        fresh.above = above;
        if (l == 1)
            fill_leaves(weights, t, fresh);
        else
            fill_above(weights, t, places, l, terms_ = std::max(terms_, terms), fresh);
        found = std::move(fresh);
    }
    return found;
}

std::optional<std::int64_t> HatWidths::at(const HatWeights& weights, std::int64_t t) {
    const int top = weights.height() - 1;
    if (!is_useful() || weights.is_closing(t))
        return {};
    checkpoint();
    Place places[HatLevels::kMaxHeight]{};
    std::int64_t tick = t - 1;
    double u = 0;
    for (int l = 1; l <= top; ++l) {
        const HatWeightsLevel& level = weights.level(l);
        const std::int64_t cell = level.cell_of(tick);
        const std::int64_t w = tick - level.start(cell);
        places[l] = {cell, w, u};
        const double passed = static_cast<double>(w) + (l == 1 ? 0.5 * weights.phase() : u);
        u = passed / static_cast<double>(level.ticks(cell));
        tick = cell;
    }

    Factor& leaves = factor(weights, t, places, 1, 0);
    const int count = leaves.terms;
    if (count == 0)
        return {};
    double term[kTerms] = {};
    double log_moment = leaves.log_moment;
    double cubic = 0;
    double square = 0;
    for (int l = 2; l <= top; ++l) {
        const Factor& other = factor(weights, t, places, l, count);
        log_moment += other.log_moment;
        cubic += other.cubic;
        square += other.square;
        const double* const value = other.value.data();
        for (int k = 0; k < count; ++k)
            term[k] += value[k] + places[l].u * (value[other.terms + k] +
                                                 places[l].u * value[2 * other.terms + k]);
    }
    const double last = step_ * count;
    if (!(log_moment <= most_log_moment_) || !(last * last * (square + cubic * last) < 0.5))
        return {};
    double error = 0;
    for (int k = 0; k < count; ++k) {
        const double theta = step_ * (k + 1);
        term[k] = leaves.value[static_cast<std::size_t>(k)] * std::exp(term[k]);
        error += term[k] * theta * theta * (square + cubic * theta);
    }
    error = tolerance_ + 1.3 * error; // expm1(x) <= 1.3 x up to 1/2
    if (!(error < 1))
        return {};

    const auto reach = [&](double b) { // P(abs(S + G) < b), within the error
        return sum_of_sines(term, count, b * step_, step_, 2 * b / period_);
    };
    const auto most = static_cast<std::int64_t>(reach_) - 1;
    const double needed = confidence_ + error;
    double short_of = -1; // the greatest probability seen that falls short
    const std::int64_t width = least_width(
        [&](std::int64_t wide) {
            const Inversion::Value value = reach(static_cast<double>(wide) + 0.5 - eta_);
            if (value.probability < needed)
                short_of = std::max(short_of, value.probability);
            return value;
        },
        needed, static_cast<double>(leaves.guess), most);
    leaves.guess = width;
    if (width == most)
        return {};
    // Two less are too few: as shown by one less, or else on their own.
    if (width >= 2 && short_of + error >= confidence_ &&
        reach(static_cast<double>(width) - 1.5 + eta_).probability + error >= confidence_)
        return {};
    return width;
}

} // namespace dp_counter
