#include "core/accuracy/noise_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "core/accuracy/inversion.hpp"
#include "core/accuracy/least_width.hpp"

namespace dp_counter {

namespace {

constexpr std::int64_t kBudget = 20'000'000; // factors of phi, for one inversion: about 0.1 s

/// P(|N| <= width) by one inversion. N is within the width where S lies in
/// [-width - 1/2, width + 1/2): halves round up.
class Rounded {
public:
    Rounded(const CharacteristicFunction& phi, const Inversion& inversion, double eta,
            int128 roundings)
        : inversion_(inversion), exact_(eta == 0) {
        const double spacing = 1 / phi.lattice();
        if (roundings > 1) { // the width itself is the last one within
            edge_ = 0;
            outer_ = exact_ ? spacing / 2 : eta;
            inner_ = exact_ ? outer_ : -eta;
        } else if (exact_) {
            // The boundaries midway between lattice points. If width + 1/2 is itself a lattice
            // point, that point is out and its mirror image is in.
            outer_ = phi.lattice_is_odd() ? 0 : spacing / 2;
            inner_ = -outer_;
        } else {
            outer_ = eta - (phi.lattice_is_odd() ? spacing / 2 : 0);
            inner_ = -outer_;
        }
    }

    /// Bounds of P(|N| <= width), and how fast they rise with the width.
    [[nodiscard]] Inversion::Value low(std::int64_t width) const { return bound(width, inner_); }
    [[nodiscard]] Inversion::Value high(std::int64_t width) const { return bound(width, outer_); }

private:
    [[nodiscard]] Inversion::Value bound(std::int64_t width, double side) const {
        const double edge = static_cast<double>(width) + edge_;
        if (!exact_)
            return inversion_.at(edge + side);
        const Inversion::Value inner = inversion_.at(edge + inner_);
        if (inner_ == outer_)
            return inner;
        const Inversion::Value outer = inversion_.at(edge + outer_);
        return {(inner.probability + outer.probability) / 2, inner.slope};
    }

    const Inversion& inversion_;
    bool exact_;
    double edge_ = 0.5;
    double outer_ = 0;
    double inner_ = 0;
};

/// One after the other: inversions of rising resolution, the last one exact if it can be had.
class Stages {
public:
    Stages(const CharacteristicFunction& phi, const Inversion::Limits& limits)
        : phi_(phi), limits_(limits),
          // A first resolution that distinguishes widths in most cases, or all that is asked for.
          eta_(std::max(0.125, limits.tolerance * std::sqrt(phi.variance()))) {}

    /// The next stage; none if it would take too long. `open` is the probability that the stage
    /// before could not place on either side of a boundary.
    [[nodiscard]] std::optional<Inversion> next(double open) {
        if (used_eta_ == 0)
            return {};
        // A resolution eight times finer that leaves half of the probability open, twice: it sits
        // within far less of the boundary. Only the lattice itself can place it.
        stuck_ = open > 0.5 * open_ ? stuck_ + 1 : 0;
        open_ = open;
        const double smoothed_points = std::asinh(4 / limits_.tolerance) / eta_;
        const bool exact = Inversion::lattice_points(phi_, limits_) < kBudget &&
                           (stuck_ >= 2 || 3.2 * phi_.lattice() <= smoothed_points);
        if (stuck_ >= 2 && !exact)
            return {};
        used_eta_ = exact ? 0 : eta_;
        eta_ /= 8;
        std::optional<Inversion> inversion = exact ? Inversion::lattice(phi_, limits_)
                                                   : Inversion::smoothed(phi_, used_eta_, limits_);
        if (!inversion->complete())
            return {};
        return inversion;
    }

    /// Of the latest stage; 0 if it was exact.
    [[nodiscard]] double eta() const { return used_eta_; }

private:
    const CharacteristicFunction& phi_;
    Inversion::Limits limits_;
    double eta_;
    double used_eta_ = 1;
    double open_ = 4;
    int stuck_ = 0;
};

/// P(|Z| > width) of one discrete Laplace variable.
double beyond(double scale, std::int64_t width) {
    return 2 * std::exp(-(static_cast<double>(width) + 1) / scale) / (1 + std::exp(-1 / scale));
}

/// The inversion's only slow case, a density with a corner, has a closed form.
std::int64_t half_width_of_one(double scale, double confidence) {
    const double tail = 1 - confidence;
    const double quantile = scale * std::log(2 / (tail * (1 + std::exp(-1 / scale))));
    auto width = static_cast<std::int64_t>(std::max(0.0, std::ceil(quantile) - 1));
    while (width > 0 && beyond(scale, width - 1) <= tail) // what rounding may have got wrong
        --width;
    while (beyond(scale, width) > tail)
        ++width;
    return width;
}

} // namespace

void check_confidence(double confidence) {
    if (confidence > 0 && confidence <= NoiseDistribution::kMaxConfidence)
        return;
    char message[96];
    (void)std::snprintf(message, sizeof message,
                        "confidence must be above 0 and at most 0.999999999, not %.15g",
                        confidence);
    throw Error(Fault::parameter, message, "0.95 is usual.");
}

NoiseDistribution::Enclosure NoiseDistribution::probability_within(std::int64_t width,
                                                                   double tolerance) const {
    Enclosure result{0, 1};
    if (width < 0)
        return {0, 0};
    if (phi_.groups() == 0)
        return {1, 1};
    Stages stages(phi_, {static_cast<double>(width) + 1, tolerance, kBudget});
    while (const auto inversion = stages.next(result.high - result.low)) {
        const Rounded rounded(phi_, *inversion, stages.eta(), roundings_);
        result.low = std::max(result.low, rounded.low(width).probability - tolerance);
        result.high = std::min(result.high, rounded.high(width).probability + tolerance);
        if (result.high - result.low <= 3 * tolerance)
            break;
    }
    return result;
}

std::int64_t NoiseDistribution::half_width(double confidence) const {
    return saturated(half_width_of_first(confidence) + (roundings_ - 1) / 2);
}

/// Of a release, or of one difference.
std::int64_t NoiseDistribution::half_width_of_first(double confidence) const {
    check_confidence(confidence);
    if (phi_.groups() == 0)
        return 0;
    if (const std::optional<double> scale = phi_.single())
        return half_width_of_one(*scale, confidence);
    // 1/10 of what is promised for computing, the rest for what the resolution leaves open.
    const double tolerance = std::min(1e-7, (1 - confidence) / 100);
    const double margin = 9 * tolerance;

    const double radius = phi_.tail_radius(1 - confidence);
    if (!(radius < 4e18))
        throw_overflow();
    auto width = static_cast<std::int64_t>(std::ceil(radius)) + 1; // reaches the confidence
    std::int64_t most = width;
    double guess = 0.75 * radius;
    Stages stages(phi_, {static_cast<double>(most) + 1, tolerance, kBudget});
    double open = 1;
    while (const auto inversion = stages.next(open)) {
        const Rounded rounded(phi_, *inversion, stages.eta(), roundings_);
        const auto low = [&](std::int64_t at) { return rounded.low(at); };
        const auto high = [&](std::int64_t at) { return rounded.high(at); };
        width = least_width(low, confidence, guess, most);
        // Is every lesser width out of the question, or short of the confidence by the margin?
        if (width == 0 || high(width - 1).probability < confidence + margin)
            return width;
        guess = static_cast<double>(width);
        const std::int64_t least = least_width(high, confidence, guess - 1, width);
        if (low(least).probability >= confidence - margin)
            return least;
        open = high(width - 1).probability - low(width - 1).probability;
        most = width + 1; // this stage's answer stays within reach of the next
    }
    return width;
}

} // namespace dp_counter
