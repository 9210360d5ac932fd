#include "core/accuracy/characteristic_function.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace dp_counter {

namespace {

/// Groups whose speed * theta / 2 is below this enter evaluate() by their series: log(1 + a), a up
/// to kSlow^2, to the fourth order. phi is off by at most (sum of a) * kSlow^8 / 2 * phi, 1e-10.
constexpr double kSlow = 0.07;

/// A lower bound of abs(sin(pi * x)) for the distance x of a number to the next integer, good to
/// 2e-4.
double least_sine(double x) {
    const double angle = std::numbers::pi * x;
    const double square = angle * angle;
    return angle * (1 - square / 6 * (1 - square / 20 * (1 - square / 42))); // alternates
}

constexpr auto kFaster = [](const auto& a, const auto& b) { return a.speed > b.speed; };

/// The greatest common divisor of all coefficients and the denominator.
int128 common_divisor(const NoiseSum& sum) {
    int128 divisor = sum.denominator;
    for (const NoiseTerm& term : sum.terms)
        for (int128 rest = term.coefficient; rest != 0;)
            divisor = std::exchange(rest, divisor % rest);
    return divisor < 0 ? -divisor : divisor;
}

} // namespace

CharacteristicFunction::CharacteristicFunction(const NoiseSum& sum) {
    const int128 lattice = sum.denominator / common_divisor(sum);
    lattice_ = static_cast<double>(lattice);
    lattice_is_odd_ = lattice % 2 != 0;

    groups_.reserve(sum.terms.size());
    const double unit = 1 / static_cast<double>(sum.denominator);
    for (const NoiseTerm& term : sum.terms) {
        if (term.coefficient == 0 || term.multiplicity == 0)
            continue;
        const double weight = std::abs(static_cast<double>(term.coefficient)) * unit;
        const double scale = term.scale.value();
        const double sinh = std::sinh(0.5 / scale); // infinite from 711 on, where the factor is 1
        const double inverse_sinh2 = 1 / sinh / sinh;
        groups_.push_back({weight, scale, inverse_sinh2, static_cast<double>(term.multiplicity),
                           weight * std::sqrt(std::max(inverse_sinh2, 1.0))});
    }
    std::sort(groups_.begin(), groups_.end(), kFaster);
    add_series();
}

void CharacteristicFunction::add_series() {
    rests_.resize(groups_.size() + 1);
    for (std::size_t i = groups_.size(); i-- > 0;) {
        // log(1 + s sin^2 x) in y = x^2 = weight^2 * theta^2 / 4
        const double s = groups_[i].inverse_sinh2;
        const double w = groups_[i].weight * groups_[i].weight;
        const double terms[] = {s, -s * (1.0 / 3 + s / 2), s * (2.0 / 45 + s * (1 + s) / 3),
                                -s * (1.0 / 315 + s * (0.1 + s / 3 + s * s / 4))};
        double factor = groups_[i].multiplicity;
        for (int k = 0; k < 4; ++k)
            rests_[i].coefficient[k] = rests_[i + 1].coefficient[k] + (factor *= w) * terms[k];
    }
}

CharacteristicFunction CharacteristicFunction::mixed(double weight) const {
    CharacteristicFunction result;
    result.lattice_ = HUGE_VAL;
    result.lattice_is_odd_ = false;
    const auto scaled = [&](double factor) {
        std::vector<Group> groups = groups_;
        for (Group& group : groups) {
            group.weight *= factor;
            group.speed *= factor;
        }
        return groups;
    };
    result.groups_ = scaled(1 - weight);
    if (weight > 0) {
        const std::vector<Group> other = scaled(weight);
        std::vector<Group> all(2 * groups_.size());
        std::merge(result.groups_.begin(), result.groups_.end(), other.begin(), other.end(),
                   all.begin(), kFaster);
        result.groups_ = std::move(all);
    }
    result.add_series();
    return result;
}

double CharacteristicFunction::largest_weight() const noexcept {
    double largest = 0;
    for (const Group& group : groups_)
        largest = std::max(largest, group.weight);
    return largest;
}

std::optional<double> CharacteristicFunction::single() const noexcept {
    if (groups_.size() == 1 && groups_[0].multiplicity == 1 && groups_[0].weight == 1)
        return groups_[0].scale;
    return {};
}

double CharacteristicFunction::variance() const noexcept {
    double sum = 0;
    for (const Group& group : groups_) // of one variable: 1 / (2 sinh^2(x/2))
        sum += group.multiplicity * group.weight * group.weight * group.inverse_sinh2 / 2;
    return sum;
}

double CharacteristicFunction::log_moment(double rate) const noexcept {
    // For every l below 1 / max(c_i scale_i)
    // E exp(l c Z) = 1 / (1 - sinh^2(c l/2) / sinh^2(x/2)) <= 1 / (1 - (l c scale)^2).
    double log_moment = 0;
    double product = 1;
    for (const Group& group : groups_) {
        const double u = rate * group.weight * group.scale;
        if (u >= 1)
            return HUGE_VAL;
        if (group.multiplicity == 1) {
            product *= 1 - u * u;
            if (product < 1e-200) {
                log_moment -= std::log(product);
                product = 1;
            }
        } else {
            log_moment -= group.multiplicity * std::log1p(-u * u);
        }
    }
    return log_moment - std::log(product);
}

double CharacteristicFunction::tail_radius(double probability) const noexcept {
    double widest = 0;
    double variance = 0;
    for (const Group& group : groups_) {
        const double width = group.weight * group.scale;
        widest = std::max(widest, width);
        variance += 2 * group.multiplicity * width * width;
    }
    if (groups_.empty())
        return 0;
    // P(|S| >= r) <= 2 exp(-l r) E exp(l S)
    const double need = std::log(2 / probability);
    const double normal = std::sqrt(2 * need / variance) * widest; // l * widest, were S normal
    double best = HUGE_VAL;
    for (const double part : {normal, 0.7 * normal, 0.4, 0.7, 0.9, 0.97}) {
        if (part >= 1 || (normal < 0.4 && part > normal)) // hardly better than the normal choice
            continue;
        const double l = part / widest;
        best = std::min(best, (need + log_moment(l)) / l * (1 + 1e-12));
    }
    return best;
}

void CharacteristicFunction::evaluate(double start, double step, int count,
                                      double* values) const noexcept {
    double product[kBatch];
    std::fill_n(product, kBatch, 1.0);
    const double slow = kSlow / (0.5 * (start + (count - 1) * step));
    std::size_t rest = 0;
    for (; rest < groups_.size() && groups_[rest].speed > slow; ++rest) {
        const Group& group = groups_[rest];
        const double half = 0.5 * group.weight;
        const double step_sine = std::sin(half * step);
        const double step_cosine = std::cos(half * step);
        double sine = start == step ? step_sine : std::sin(half * start);
        double cosine = start == step ? step_cosine : std::cos(half * start);
        double factor[kBatch];
        for (int i = 0; i < count; ++i) {
            factor[i] = 1 + sine * sine * group.inverse_sinh2;
            const double next = sine * step_cosine + cosine * step_sine;
            cosine = cosine * step_cosine - sine * step_sine;
            sine = next;
        }
        if (group.multiplicity == 1) {
            for (int i = 0; i < count; ++i)
                product[i] *= factor[i];
        } else {
            for (int i = 0; i < count; ++i)
                product[i] *= std::pow(factor[i], group.multiplicity);
        }
    }
    const double* series = rests_[rest].coefficient;
    for (int i = 0; i < count; ++i) {
        const double half = 0.5 * (start + i * step);
        const double x = half * half;
        const double log = x * (series[0] + x * (series[1] + x * (series[2] + x * series[3])));
        values[i] = std::exp(-log) / product[i]; // an infinite product gives 0
    }
}

double CharacteristicFunction::supremum(double from, double to, double enough) const noexcept {
    double product = 1;
    for (const Group& group : groups_) {
        // In units of pi, in which the sine has its zeros at integers. It is concave between two:
        // the least value is at an end.
        const double low = group.weight * (from / (2 * std::numbers::pi));
        const double high = group.weight * (to / (2 * std::numbers::pi));
        const auto zero = static_cast<double>(static_cast<std::int64_t>(low));
        if (high >= zero + 1)
            continue;
        const double nearest = std::min(low - zero, zero + 1 - high) - 1e-15 * high; // rounding
        const double sine = least_sine(std::clamp(nearest, 0.0, 0.5));
        const double factor = 1 + sine * sine * group.inverse_sinh2;
        product *= group.multiplicity == 1 ? factor : std::pow(factor, group.multiplicity);
        if (product * enough >= 1)
            break;
    }
    return 1 / product;
}

} // namespace dp_counter
