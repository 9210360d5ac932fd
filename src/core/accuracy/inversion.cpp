#include "core/accuracy/inversion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/checkpoint.hpp"

namespace dp_counter {

namespace {

using std::numbers::pi;

/// 1/4 of the tolerance each for: what lies beyond the period, the skipped blocks, the truncation
/// of the smoothed form, and rounding.
constexpr double kShare = 0.25;

double period_for(const Characteristic& phi, const Inversion::Limits& limits, double eta) {
    return limits.reach + eta + phi.tail_radius(kShare * limits.tolerance);
}

/// The odd number of lattice points in a period.
double points_for(const Characteristic& phi, const Inversion::Limits& limits) {
    const double half = std::ceil(period_for(phi, limits, 0) * phi.lattice() / 2) + 1;
    return 2 * half + 1;
}

} // namespace

Inversion::Inversion(const Characteristic& phi, const Limits& limits, double period, double eta)
    : phi_(&phi), limits_(limits), step_(2 * pi / period), eta_(eta),
      // The tail of the Kaiser-Bessel transform: (2/pi) sum of 1/k abs(g) <= 1/sinh(beta).
      beta_(std::asinh(1 / (kShare * limits.tolerance))), unit_(beta_ / std::sinh(beta_)) {}

Inversion Inversion::smoothed(const Characteristic& phi, double eta, const Limits& limits) {
    Inversion result(phi, limits, period_for(phi, limits, eta), eta);
    result.add(std::max(1.0, std::floor(result.beta_ / eta / result.step_)));
    return result;
}

Inversion Inversion::lattice(const Characteristic& phi, const Limits& limits) {
    const double points = points_for(phi, limits);
    Inversion result(phi, limits, points / phi.lattice(), 0);
    result.points_ = points;
    result.add((points - 1) / 2);
    return result;
}

double Inversion::lattice_points(const Characteristic& phi, const Limits& limits) noexcept {
    return (points_for(phi, limits) - 1) / 2;
}

void Inversion::add(double last) {
    // Every term is at most phi/k in size, so skipping all k with phi <= threshold costs at most
    // threshold * (1 + log(last)).
    threshold_ = kShare * limits_.tolerance / (1 + std::log(last));
    struct Range {
        double first;
        double last;
    };
    constexpr double kBatch = Characteristic::kBatch;
    // Longer ranges hold a point where the widest factor of phi returns to 1.
    const double longest = std::max(kBatch, std::floor(pi / 2 / (phi_->largest_weight() * step_)));
    std::vector<Range> todo;
    double from = std::min(kBatch, last) + 1;
    sum(1, static_cast<int>(from) - 1);
    while (from <= last && complete()) {
        const double to = std::min(from + std::min(from, longest) - 1, last);
        todo.push_back({from, to});
        from = to + 1;
        while (!todo.empty() && complete()) {
            checkpoint();
            const Range range = todo.back();
            todo.pop_back();
            const double low = range.first * step_;
            const double enough = threshold_ / smoothing(low);
            spent_ += 8;
            if (enough >= 1 || phi_->supremum(low, range.last * step_, enough) <= enough)
                continue;
            const double count = range.last - range.first + 1;
            if (count <= kBatch) {
                sum(range.first, static_cast<int>(count));
                continue;
            }
            const double middle = range.first + std::floor(count / 2);
            todo.push_back({middle, range.last});
            todo.push_back({range.first, middle - 1});
        }
    }
}

void Inversion::sum(double first, int count) {
    double values[Characteristic::kBatch];
    phi_->evaluate(first * step_, step_, count, values);
    spent_ += static_cast<std::int64_t>(count) * phi_->groups();
    for (int i = 0; i < count; ++i) {
        const double k = first + i;
        const double weight =
            points_ != 0 ? 2 / (points_ * std::sin(pi * k / points_)) : 2 / (pi * k);
        weights_.push_back(weight * smoothing(k * step_) * values[i]);
    }
    blocks_.push_back({first, count});
}

double Inversion::smoothing(double theta) const noexcept {
    if (eta_ == 0)
        return 1;
    const double square = beta_ * beta_ - eta_ * eta_ * theta * theta;
    if (square <= 0)
        return unit_;
    const double root = std::sqrt(square);
    return std::sinh(root) / root * unit_;
}

Inversion::Value Inversion::at(double b) const {
    const double step = b * step_;
    const double step_sine = std::sin(step);
    const double step_cosine = std::cos(step);
    double probability = step / pi; // 2b/L
    double slope = 1 / pi;
    const double* weight = weights_.data();
    for (const Block& block : blocks_) {
        checkpoint();
        double sine = std::sin(step * block.first);
        double cosine = std::cos(step * block.first);
        for (std::int32_t i = 0; i < block.count; ++i, ++weight) {
            probability += *weight * sine;
            slope += *weight * cosine * (block.first + i);
            const double next = sine * step_cosine + cosine * step_sine;
            cosine = cosine * step_cosine - sine * step_sine;
            sine = next;
        }
    }
    return {probability, slope * step_};
}

} // namespace dp_counter
