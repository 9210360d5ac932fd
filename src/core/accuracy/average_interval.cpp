#include "core/accuracy/average_interval.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "core/accuracy/inversion.hpp"
#include "core/accuracy/least_width.hpp"
#include "core/accuracy/noise_distribution.hpp"

namespace dp_counter {

namespace {

constexpr std::int64_t kBudget = 20'000'000; // factors of phi, for one inversion: about 0.1 s

/// A lower bound of P(S = 0): that all its variables are 0.
double silence(const NoiseSum& noise) {
    double probability = 1;
    for (const NoiseTerm& term : noise.terms) // of one variable: (1 - q) / (1 + q)
        probability *=
            std::pow(std::tanh(0.5 / term.scale.value()), static_cast<double>(term.multiplicity));
    return probability;
}

} // namespace

ShareQuantiles::ShareQuantiles(const NoiseSum& noise, double confidence)
    : phi_(noise), confidence_(confidence) {
    check_confidence(confidence);
    const double variance = phi_.variance();
    const double silent = variance < 1 ? silence(noise) : 0;
    is_exact_ = silent * silent >= confidence;
    const auto roundings = static_cast<double>(noise.roundings);
    most_slack_ = slack_ = std::max(0.5 * roundings, 0.25);
    // Fine and wide noise averages out all of two roundings but what is left at p = 1/2. The
    // weights at whole frequencies show whether it is fine.
    double weights[CharacteristicFunction::kBatch];
    phi_.evaluate(2 * std::numbers::pi, 2 * std::numbers::pi, CharacteristicFunction::kBatch,
                  weights);
    if (variance > 16 && *std::max_element(std::begin(weights), std::end(weights)) < 1e-3)
        slack_ = std::max(0.25 * roundings, 0.25);
}

double ShareQuantiles::at(int node) const {
    if (is_exact_)
        return std::numeric_limits<double>::min();
    const CharacteristicFunction phi = phi_.mixed(static_cast<double>(node) / kShareCells);
    const double eta = std::max(std::sqrt(phi.variance()) / 128, 1.0 / 16);
    const double tolerance = std::min(1e-5, (1 - confidence_) / 100);
    const double radius = phi.tail_radius(1 - confidence_ - 2 * tolerance);
    const auto inversion = Inversion::smoothed(phi, eta, {radius + eta, tolerance, kBudget});
    if (!inversion.complete())
        return radius + most_slack_;
    const double unit = eta / 16; // of the search
    const auto bound = [&](std::int64_t width) {
        Inversion::Value value = inversion.at(static_cast<double>(width) * unit);
        value.slope *= unit;
        return value;
    };
    const std::int64_t width =
        least_width(bound, confidence_ + tolerance, 0.75 * radius / unit,
                    static_cast<std::int64_t>(std::ceil((radius + eta) / unit)));
    return static_cast<double>(width) * unit + eta + (node == 0 ? most_slack_ : slack_);
}

} // namespace dp_counter
