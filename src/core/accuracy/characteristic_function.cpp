#include "core/accuracy/characteristic_function.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dp_counter {

namespace {

constexpr std::size_t kLeading = 24; ///< groups sorted to the front

/// The greatest common divisor of all coefficients and the denominator.
int128 common_divisor(const NoiseSum& sum) {
    const auto is_power_of_two = [](int128 x) { return (x & (x - 1)) == 0; };
    int128 divisor = sum.denominator;
    for (const NoiseTerm& term : sum.terms) {
        if (divisor == 1)
            break;
        if (is_power_of_two(divisor)) { // the usual case, without divisions
            const int128 both = divisor | term.coefficient;
            divisor = both & -both;
            continue;
        }
        int128 rest = term.coefficient;
        while (rest != 0) {
            const int128 next = divisor % rest;
            divisor = rest;
            rest = next;
        }
        divisor = divisor < 0 ? -divisor : divisor;
    }
    return divisor;
}

double inverse_sinh_squared(double x) {
    const double sinh = std::sinh(x); // infinite from 711 on, where the factor is 1
    return 1 / sinh / sinh;
}

} // namespace

CharacteristicFunction::CharacteristicFunction(const NoiseSum& sum) {
    const int128 lattice = sum.denominator / common_divisor(sum);
    lattice_ = static_cast<double>(lattice);
    lattice_is_odd_ = lattice % 2 != 0;

    groups_.reserve(sum.terms.size());
    const double unit = 1 / static_cast<double>(sum.denominator);
    const LaplaceScale* last = nullptr;
    for (const NoiseTerm& term : sum.terms) {
        if (term.coefficient == 0 || term.multiplicity == 0)
            continue;
        const double weight = std::abs(static_cast<double>(term.coefficient)) * unit;
        const auto multiplicity = static_cast<double>(term.multiplicity);
        if (last != nullptr && term.scale == *last) { // as a rule: terms come level by level
            if (groups_.back().weight == weight)
                groups_.back().multiplicity += multiplicity;
            else
                groups_.push_back(
                    {weight, groups_.back().scale, groups_.back().inverse_sinh2, multiplicity});
            continue;
        }
        last = &term.scale;
        const double scale = term.scale.value();
        groups_.push_back({weight, scale, inverse_sinh_squared(0.5 / scale), multiplicity});
    }
    const auto share = [](const Group& g) {
        const double width = g.weight * g.scale;
        return width * width * g.multiplicity;
    };
    const std::size_t leading = std::min(kLeading, groups_.size());
    const auto wider = [&](const Group& a, const Group& b) { return share(a) > share(b); };
    const auto end = groups_.begin() + static_cast<std::ptrdiff_t>(leading);
    std::nth_element(groups_.begin(), end, groups_.end(), wider);
    std::sort(groups_.begin(), end, wider);
}

CharacteristicFunction CharacteristicFunction::mixed(double weight) const {
    CharacteristicFunction result;
    result.lattice_ = HUGE_VAL;
    result.lattice_is_odd_ = false;
    result.groups_.reserve(2 * groups_.size());
    for (const double factor : {1 - weight, weight})
        for (Group group : groups_) {
            group.weight *= factor;
            if (group.weight > 0)
                result.groups_.push_back(group);
        }
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
    for (const Group& group : groups_) {
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
    for (int i = 0; i < count; ++i)
        values[i] = 1 / product[i]; // an infinite product gives 0
}

double CharacteristicFunction::supremum(double from, double to, double enough) const noexcept {
    constexpr double kRounding = 1 - 1e-9; // the sines below are good to far more than this
    double product = 1;
    std::size_t seen = 0;
    for (const Group& group : groups_) {
        if (seen++ == kLeading && product < 2)
            break;
        const double low = 0.5 * group.weight * from;
        const double high = 0.5 * group.weight * to;
        if (std::floor(low / std::numbers::pi) != std::floor(high / std::numbers::pi))
            continue; // the sine has a zero in between
        // abs(sin) is concave between two zeros: the least value is at an end
        const double sine = std::min(std::abs(std::sin(low)), std::abs(std::sin(high))) * kRounding;
        const double factor = 1 + sine * sine * group.inverse_sinh2;
        product *= group.multiplicity == 1 ? factor : std::pow(factor, group.multiplicity);
        if (product * enough >= 1)
            break;
    }
    return 1 / product;
}

} // namespace dp_counter
