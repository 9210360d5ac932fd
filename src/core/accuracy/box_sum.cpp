#include "core/accuracy/box_sum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace dp_counter {

BoxSum::BoxSum(std::int32_t size, double rate, std::vector<BoxPart> parts)
    : rate_(rate), parts_(std::move(parts)) {
    const double peak = size / rate; // of (2R + 1)^size exp(-rate R), or half a step from it
    const double at_peak = size * std::log(2 * peak + 1) - rate * peak;
    double sum = 0;
    for (std::int64_t number = 0;; ++number) {
        const auto radius = static_cast<double>(number);
        const double mass = std::exp(size * std::log(2 * radius + 1) - rate * radius - at_peak);
        if (radius > peak && mass < 1e-18 * sum)
            break;
        radii_.push_back({mass, 2 * radius + 1});
        sum += mass;
    }
    for (Radius& radius : radii_)
        radius.probability /= sum;
}

template <class Factor>
double BoxSum::product(Factor&& factor) const noexcept {
    double means[3] = {};
    for (const Radius& radius : radii_) {
        const double one = factor(radius.width);
        for (std::size_t part = 0; part < parts_.size(); ++part)
            means[part] += radius.probability * __builtin_powi(one, parts_[part].steps);
    }
    double result = 1;
    for (std::size_t part = 0; part < parts_.size(); ++part)
        result *=
            parts_[part].blocks == 1 ? means[part] : std::pow(means[part], parts_[part].blocks);
    return result;
}

double BoxSum::variance() const noexcept {
    double steps = 0;
    for (const BoxPart& part : parts_)
        steps += part.steps * part.blocks;
    double square = 0;
    for (const Radius& radius : radii_) // R (R + 1) / 3
        square += radius.probability * (radius.width * radius.width - 1) / 12;
    return steps * square;
}

double BoxSum::tail_radius(double probability) const noexcept {
    // Chernoff's bound; a step of radius R has E exp(l z) = sinh(l width / 2) / (width sinh(l/2)).
    int most = 1;
    for (const BoxPart& part : parts_)
        most = std::max(most, part.steps);
    const double need = std::log(2 / probability);
    const double normal = std::sqrt(2 * need / variance());
    double best = HUGE_VAL;
    for (const double part : {0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, HUGE_VAL}) {
        const double l = std::min({part * rate_ / most, normal, 16.0 / most});
        const double unit = std::sinh(l / 2);
        const double moment =
            product([&](double width) { return std::sinh(l * width / 2) / (width * unit); });
        best = std::min(best, (need + std::log(moment)) / l * (1 + 1e-9));
    }
    return best;
}

void BoxSum::evaluate(double start, double step, int count, double* values) const noexcept {
    for (int i = 0; i < count; ++i) {
        const double half = (start + i * step) / 2;
        const double unit = 1 / std::sin(half);
        // sin(width * half), width = 1, 3, 5, ...
        const double turn_sine = std::sin(2 * half);
        const double turn_cosine = std::cos(2 * half);
        double sine = std::sin(half);
        double cosine = std::cos(half);
        values[i] = product([&](double width) {
            const double factor = sine * unit / width;
            const double next = sine * turn_cosine + cosine * turn_sine;
            cosine = cosine * turn_cosine - sine * turn_sine;
            sine = next;
            return factor;
        });
    }
}

double BoxSum::supremum(double from, double to, double /*enough*/) const noexcept {
    // With y = theta / 2 a factor is below exp(-(width^2 - 1) y^2 / 6) up to y = pi / width, its
    // first zero, and then below 1 / (width sin y), which is at most 0.385 there.
    constexpr double kBeyond = 0.385;
    const double least = from / 2;
    const double unit = 1 / std::sin(std::min(least, std::numbers::pi / 2));
    return product([&](double width) {
        if (width == 1)
            return 1.0;
        if (width * least >= std::numbers::pi)
            return unit / width;
        const double first = std::exp((1 - width * width) * least * least / 6);
        return width * to / 2 < std::numbers::pi ? first : std::max(first, kBeyond);
    });
}

} // namespace dp_counter
