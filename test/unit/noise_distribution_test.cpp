#include "core/accuracy/noise_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/inversion.hpp"
#include "core/noise/discrete_laplace.hpp"
#include "core/noise/keystream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

constexpr double kMargin = 1e-6; ///< what half_width promises, for confidences up to 0.99999

NoiseSum tree_sum(double epsilon, int height, std::int64_t nodes) {
    return {{{1, {Epsilon(epsilon), static_cast<uint128>(height)}, nodes}}, 1};
}

/// P(Z = 0), P(Z = 1), ... of one variable, until nothing is left in long double.
std::vector<long double> one_sided(const LaplaceScale& scale) {
    const long double x = static_cast<long double>(scale.epsilon.value()) /
                          static_cast<long double>(scale.sensitivity);
    const long double q = std::exp(-x);
    std::vector<long double> p;
    for (int z = 0; z == 0 || p.back() > 1e-22L; ++z)
        p.push_back(-std::expm1(-x) / (1 + q) * std::exp(-x * z));
    return p;
}

/// The distribution of S * denominator, by convolution term after term.
using Distribution = std::map<std::int64_t, long double>;

Distribution convolve(const NoiseSum& sum) {
    Distribution result{{0, 1.0L}};
    for (const NoiseTerm& term : sum.terms) {
        const std::vector<long double> p = one_sided(term.scale);
        for (std::int64_t copy = 0; copy < term.multiplicity; ++copy) {
            Distribution next;
            for (const auto& [value, mass] : result)
                for (std::size_t z = 0; z < p.size(); ++z) {
                    if (mass * p[z] < 1e-18L)
                        break;
                    const auto shift =
                        static_cast<std::int64_t>(term.coefficient) * static_cast<std::int64_t>(z);
                    next[value + shift] += mass * p[z];
                    if (z > 0)
                        next[value - shift] += mass * p[z];
                }
            result.swap(next);
        }
    }
    return result;
}

/// P(|N| <= width) for all widths, N = floor(S + 1/2).
std::vector<long double> within(const Distribution& distribution, std::int64_t denominator) {
    std::map<std::int64_t, long double> magnitude;
    for (const auto& [value, mass] : distribution) {
        const std::int64_t twice = 2 * value + denominator;
        std::int64_t rounded = twice / (2 * denominator);
        if (twice < 0 && twice % (2 * denominator) != 0)
            --rounded;
        magnitude[std::abs(rounded)] += mass;
    }
    std::vector<long double> result(static_cast<std::size_t>(magnitude.rbegin()->first) + 1);
    for (const auto& [width, mass] : magnitude)
        result[static_cast<std::size_t>(width)] = mass;
    for (std::size_t i = 1; i < result.size(); ++i)
        result[i] += result[i - 1];
    return result;
}

/// Holds probabilities and half widths against the exact ones; where they cannot be resolved, they
/// have to err on the safe side alone. `limit`: widths to look at. Returns how many were compared.
int expect_exact(const NoiseSum& sum, const std::vector<long double>& exact, double tolerance,
                 std::size_t limit, bool resolved = true) {
    const NoiseDistribution noise(sum);
    int compared = 0;
    for (std::size_t width = 0; width < std::min<std::size_t>(exact.size(), limit); ++width) {
        const auto [low, high] =
            noise.probability_within(static_cast<std::int64_t>(width), tolerance);
        EXPECT_LE(low, static_cast<double>(exact[width]) + 1e-13) << width;
        EXPECT_GE(high, static_cast<double>(exact[width]) - 1e-13) << width;
        if (resolved) {
            EXPECT_LE(high - low, 3 * tolerance) << width;
        }
        ++compared;
    }
    for (const double confidence : {0.01, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.99999}) {
        const std::int64_t width = noise.half_width(confidence);
        const auto index = static_cast<std::size_t>(width);
        if (index < exact.size()) {
            EXPECT_GE(exact[index], confidence - kMargin) << confidence;
        }
        if (width > 0 && resolved) {
            EXPECT_LT(exact[std::min(index, exact.size()) - 1], confidence + kMargin) << confidence;
        }
        ++compared;
    }
    return compared;
}

TEST(NoiseDistribution, OneVariableHasAClosedForm) {
    for (const double epsilon : {1e9, 30.0, 3.0, 0.7, 1e-2, 1e-5, 1e-9})
        for (const double confidence : {1e-3, 0.5, 0.9, 0.95, 0.9999, 1 - 1e-9}) {
            const std::int64_t width =
                NoiseDistribution(tree_sum(epsilon, 2, 1)).half_width(confidence);
            const long double x = epsilon / 2;
            const auto tail = [x](std::int64_t a) {
                return 2 * std::exp(-x * (static_cast<long double>(a) + 1)) / (1 + std::exp(-x));
            };
            EXPECT_LE(tail(width), (1 - confidence) * (1 + 1e-9)) << epsilon << " " << confidence;
            if (width > 0) {
                EXPECT_GE(tail(width - 1), (1 - confidence) * (1 - 1e-9))
                    << epsilon << " " << confidence;
            }
        }
}

TEST(NoiseDistribution, SumsOfTreeNodesMatchTheExactConvolution) {
    int compared = 0;
    for (const double epsilon : {100.0, 20.0, 6.0, 2.0, 0.5})
        for (const std::int64_t nodes : {1, 2, 3, 5, 8, 27}) {
            const NoiseSum sum = tree_sum(epsilon, 3, nodes);
            compared += expect_exact(sum, within(convolve(sum), 1), 1e-10, 200);
        }
    EXPECT_GT(compared, 1000);
}

TEST(NoiseDistribution, SmallEpsilonHasTheContinuousLimit) {
    // P(|S| > x scale) for sums of two and three continuous Laplace variables.
    const auto two = [](double x) { return std::exp(-x) * (1 + x / 2); };
    const auto three = [](double x) { return std::exp(-x) * (x * x + 5 * x + 8) / 8; };
    for (const double epsilon : {1e-4, 1e-6, 1e-9})
        for (const double confidence : {0.5, 0.95, 0.999, 0.999999}) {
            const double margin = std::min(kMargin, (1 - confidence) / 10) + 1e-8;
            const double unit = 3 / epsilon;
            for (const int nodes : {2, 3}) {
                const std::int64_t width =
                    NoiseDistribution(tree_sum(epsilon, 3, nodes)).half_width(confidence);
                const double x = (static_cast<double>(width) + 0.5) / unit;
                const double tail = nodes == 2 ? two(x) : three(x);
                // one step of the width is up to 1/unit in probability
                EXPECT_NEAR(tail, 1 - confidence, margin + 1 / unit) << epsilon << " " << nodes;
            }
        }
}

TEST(NoiseDistribution, ManyNodesAreNearlyNormal) {
    // The Berry-Esseen distance for 65534 variables is below 0.01; the quantile is found anyway,
    // and with it a probability that encloses the confidence.
    const NoiseDistribution noise(tree_sum(1.0, 1, 65534));
    const std::int64_t width = noise.half_width(0.95);
    EXPECT_NEAR(static_cast<double>(width) / std::sqrt(noise.variance()), 1.96, 0.01);
    EXPECT_GE(noise.probability_within(width).high, 0.95);
    EXPECT_LT(noise.probability_within(width - 1).low, 0.95);
}

TEST(NoiseDistribution, FractionsMatchTheExactConvolution) {
    struct Case {
        std::int64_t denominator;
        std::vector<std::int64_t> coefficients;
    };
    const Case cases[] = {
        {2, {1}},                        // halves: every other value of S is a tie
        {2, {1, -1}},                    //
        {2, {2, 1, 1}},                  //
        {3, {1, 2, 3}},                  //
        {6, {3, -2, 1}},                 //
        {10, {7, -3, 5, 5}},             //
        {64, {64, 21, -43}},             //
        {65536, {65536, 32768, -32768}}, // exactly one half, not in lowest terms
        {65536, {43690, -21846, 21845}}, // all but commensurable: thirds, floored
        {65536, {65536, 10922, 32767}},  // atoms just beside the ties
        {65536, {1, 65535, 65536}},      //
        {65536, {60000, -4321, 17}},     //
        {1 << 24, {1 << 24, (1 << 24) / 3, (1 << 23) - 1}}, // too fine to be resolved
    };
    int compared = 0;
    for (const Case& c : cases)
        for (const double epsilon : {1e3, 30.0, 9.0, 3.0, 1.2}) {
            NoiseSum sum{{}, c.denominator};
            for (const std::int64_t coefficient : c.coefficients)
                sum.terms.push_back({coefficient, {Epsilon(epsilon), 2}, 1});
            SCOPED_TRACE(testing::Message() << c.denominator << " " << epsilon);
            compared += expect_exact(sum, within(convolve(sum), c.denominator), 1e-9, 5,
                                     c.denominator <= 65536);
        }
    EXPECT_GT(compared, 800);
}

TEST(NoiseDistribution, LatticeNoiseOfUpperLevelsMatchesTheExactConvolution) {
    // As the hat estimator has it: level l draws on the lattice 1/B_l with B_l times the scale.
    const LaplaceScale steps{Epsilon(4.0), 2};
    const LaplaceScale knots{Epsilon(4.0), 2 * 16};
    const NoiseSum sum{{{16, steps, 2}, {5, steps, 1}, {1, knots, 1}, {-1, knots, 1}}, 16};
    EXPECT_GT(expect_exact(sum, within(convolve(sum), 16), 1e-9, 9), 12);
}

TEST(NoiseDistribution, RandomSumsMatchTheExactConvolution) {
    std::mt19937 random(1); // NOLINT(cert-msc51-cpp): the same cases every time
    const std::int64_t denominators[] = {1, 2, 3, 5, 12, 100, 4096, 65536, 3 * 65536};
    int compared = 0;
    for (int round = 0; round < 200; ++round) {
        const std::int64_t denominator = denominators[random() % 9];
        NoiseSum sum{{}, denominator};
        const int terms = 1 + static_cast<int>(random() % 3);
        for (int i = 0; i < terms; ++i) {
            const auto coefficient =
                static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * denominator)) -
                denominator;
            const double epsilon = std::exp2(static_cast<double>(random() % 600) / 100);
            sum.terms.push_back({coefficient, {Epsilon(epsilon), 1 + random() % 3}, 1});
        }
        SCOPED_TRACE(round);
        compared += expect_exact(sum, within(convolve(sum), denominator), 1e-9, 4);
    }
    EXPECT_GT(compared, 2000);
}

TEST(NoiseDistribution, WithoutNoiseTheWidthIsZero) {
    EXPECT_EQ(NoiseDistribution(NoiseSum{}).half_width(0.99), 0);
    EXPECT_EQ(NoiseDistribution(tree_sum(1.0, 1, 0)).half_width(0.99), 0);
    EXPECT_EQ(NoiseDistribution(NoiseSum{{{0, {Epsilon(1.0), 1}, 5}}, 7}).half_width(0.99), 0);
    EXPECT_EQ(NoiseDistribution(tree_sum(1e9, 4, 1000)).half_width(1 - 1e-9), 0);
}

TEST(NoiseDistribution, CommonFactorsChangeNothing) {
    const LaplaceScale scale{Epsilon(0.5), 3};
    const int128 big = int128{1} << 64;
    const NoiseSum small{{{2, scale, 3}, {-1, scale, 1}}, 2};
    const NoiseSum large{{{big, scale, 2}, {-big, scale, 1}, {big / 2, scale, 1}}, big};
    for (const double confidence : {0.5, 0.9, 0.99})
        EXPECT_EQ(NoiseDistribution(small).half_width(confidence),
                  NoiseDistribution(large).half_width(confidence));
}

TEST(NoiseDistribution, RefusesConfidencesThatItCannotKeep) {
    const NoiseDistribution noise(tree_sum(1.0, 1, 5));
    for (const double confidence : {0.0, -0.5, 1.0, 2.0, 1 - 1e-12, std::nan("")})
        EXPECT_THROW((void)noise.half_width(confidence), Error) << confidence;
    EXPECT_GT(noise.half_width(NoiseDistribution::kMaxConfidence), 0);
    EXPECT_EQ(noise.half_width(1e-300), 0);
}

TEST(NoiseDistribution, TheTailBoundHolds) {
    for (const double epsilon : {10.0, 1.0})
        for (const std::int64_t nodes : {1, 4, 12}) {
            const NoiseSum sum = tree_sum(epsilon, 2, nodes);
            const CharacteristicFunction phi(sum);
            const std::vector<long double> exact = within(convolve(sum), 1);
            for (const double probability : {0.1, 1e-3, 1e-8}) {
                const auto width = static_cast<std::size_t>(phi.tail_radius(probability));
                if (width < exact.size()) {
                    EXPECT_LE(1 - exact[width], probability) << epsilon << " " << nodes;
                }
            }
        }
}

TEST(NoiseDistribution, TheCharacteristicFunctionIsTheProduct) {
    std::mt19937 random(3); // NOLINT(cert-msc51-cpp): the same cases every time
    for (int round = 0; round < 300; ++round) {
        NoiseSum sum{{}, 1 << 20};
        for (int i = 0; i < 200; ++i) // of weights down to 1e-6
            sum.terms.push_back({static_cast<int128>(random() % (1U << (random() % 20 + 1)) + 1),
                                 {Epsilon(std::exp2(static_cast<double>(random() % 8) - 4)), 2},
                                 static_cast<std::int64_t>(1 + random() % 3)});
        const CharacteristicFunction phi(sum);
        const double theta = std::exp2(-static_cast<double>(random() % 1000) / 100) * 4;
        double values[CharacteristicFunction::kBatch];
        phi.evaluate(theta, theta / 8, CharacteristicFunction::kBatch, values);
        for (int i = 0; i < CharacteristicFunction::kBatch; ++i) {
            long double product = 1;
            for (const NoiseTerm& term : sum.terms) {
                const long double half = (theta + i * theta / 8) / 2;
                const long double sine =
                    std::sin(half * static_cast<long double>(term.coefficient) / sum.denominator);
                const long double sinh = std::sinh(0.5L / term.scale.value());
                product *= std::pow(1 + sine * sine / (sinh * sinh), term.multiplicity);
            }
            EXPECT_NEAR(values[i], 1 / product, 1e-10) << round;
        }
    }
}

TEST(NoiseDistribution, TheSupremumHolds) {
    std::mt19937 random(2); // NOLINT(cert-msc51-cpp): the same cases every time
    for (int round = 0; round < 300; ++round) {
        NoiseSum sum{{}, 65536};
        for (int i = 0; i < 3; ++i)
            sum.terms.push_back({static_cast<int128>(random() % 65537),
                                 {Epsilon(std::exp2(static_cast<double>(random() % 8) - 4)), 2},
                                 static_cast<std::int64_t>(1 + random() % 3)});
        const CharacteristicFunction phi(sum);
        const double from = static_cast<double>(random() % 100000) / 1000;
        const double step = static_cast<double>(1 + random() % 1000) / 5000;
        double values[CharacteristicFunction::kBatch];
        phi.evaluate(from, step, CharacteristicFunction::kBatch, values);
        const double bound =
            phi.supremum(from, from + step * (CharacteristicFunction::kBatch - 1), 0);
        EXPECT_GE(bound, *std::max_element(values, std::end(values)) * (1 - 1e-9)) << round;
    }
}

TEST(NoiseDistribution, DrawnNoiseFallsIntoTheWidth) {
    // 21 frequencies, each with a two-sided false alarm rate below 1e-10 (7 sigma, and the skew of
    // a binomial of 500): together below 1e-8.
    constexpr double kSigmas = 7;
    constexpr int kDraws = 50'000;
    Keystream random;
    struct Case {
        double epsilon;
        std::int64_t denominator;
        std::vector<std::int64_t> coefficients;
    };
    const Case cases[] = {
        {50.0, 1, {1, 1, 1, 1, 1}},
        {3.0, 1, {1, 1, 1}},
        {0.1, 1, {1, 1, 1, 1, 1, 1}},
        {1e-6, 1, {1, 1}},
        {6.0, 65536, {65536, 65536, 32768, -32768, 43690, -21846, -21846}},
        {0.5, 65536, {65536, 32768, -21846, 17, 4096}},
        {1e-3, 65536, {60000, -21846, 32768}},
    };
    int frequencies = 0;
    for (const Case& c : cases) {
        const LaplaceScale scale{Epsilon(c.epsilon), 3};
        NoiseSum sum{{}, c.denominator};
        for (const std::int64_t coefficient : c.coefficients)
            sum.terms.push_back({coefficient, scale, 1});
        const NoiseDistribution noise(sum);
        const DiscreteLaplace sampler(scale);
        std::vector<std::int64_t> drawn(kDraws);
        for (std::int64_t& value : drawn) {
            int128 total = 0;
            for (const std::int64_t coefficient : c.coefficients)
                total += static_cast<int128>(coefficient) * test::draw(sampler, random);
            const int128 twice = 2 * total + c.denominator;
            const int128 step = 2 * c.denominator;
            value = static_cast<std::int64_t>(twice / step - (twice % step < 0 ? 1 : 0));
        }
        for (const double confidence : {0.5, 0.9, 0.99}) {
            const std::int64_t width = noise.half_width(confidence);
            const auto [low, high] = noise.probability_within(width);
            EXPECT_GE(high, confidence - kMargin);
            const auto hits = static_cast<double>(
                std::count_if(drawn.begin(), drawn.end(),
                              [&](std::int64_t value) { return std::abs(value) <= width; }));
            const double sigma = std::sqrt(kDraws * low * (1 - low)) + 1;
            EXPECT_NEAR(hits, kDraws * (low + high) / 2, kSigmas * sigma)
                << c.epsilon << " " << confidence;
            ++frequencies;
        }
    }
    EXPECT_EQ(frequencies, 21);
}

TEST(NoiseDistribution, OfADifferenceCountsTheWidthItself) {
    // S = Z/2: abs(S) <= w where abs(Z) <= 2w.
    for (const double scale : {0.5, 2.0, 30.0}) {
        const NoiseDistribution noise({{{1, {Epsilon(1 / scale), 1}, 1}}, 2, 2});
        const double q = std::exp(-1 / scale);
        const auto within = [&](std::int64_t width) {
            return 1 - 2 * std::pow(q, 2 * static_cast<double>(width) + 1) / (1 + q);
        };
        for (const std::int64_t width : {0, 1, 2, 5, 20}) {
            const auto [low, high] = noise.probability_within(width);
            EXPECT_LE(low, within(width) + 1e-9) << scale;
            EXPECT_GE(high, within(width) - 1e-9) << scale;
            EXPECT_LT(high - low, 1e-6) << scale;
        }
        std::int64_t least = 0;
        while (within(least) < 0.9)
            ++least;
        EXPECT_EQ(noise.half_width(0.9), least) << scale;
    }
}

} // namespace
} // namespace dp_counter
