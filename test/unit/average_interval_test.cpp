#include "core/accuracy/average_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/accuracy/noise_distribution.hpp"

namespace dp_counter {
namespace {

/// P(N = -most) .. P(N = most), N the rounded sum of coefficient / denominator times variables of
/// one scale, by convolution.
struct Law {
    std::int64_t most;
    std::vector<double> mass;

    Law(double scale, const std::vector<std::int64_t>& coefficients, std::int64_t denominator = 1) {
        const double q = std::exp(-1 / scale);
        std::int64_t reach = 1; // of one variable; beyond it less than 1e-12
        while (std::pow(q, static_cast<double>(reach)) > 1e-12)
            ++reach;
        std::vector<double> sum{1};
        std::int64_t center = 0; // index of 0
        for (const std::int64_t coefficient : coefficients) {
            const std::int64_t more = reach * coefficient;
            std::vector<double> next(sum.size() + 2 * static_cast<std::size_t>(more));
            for (std::size_t i = 0; i < sum.size(); ++i)
                for (std::int64_t z = -reach; z <= reach; ++z)
                    next[i + static_cast<std::size_t>(more + z * coefficient)] +=
                        sum[i] * (1 - q) / (1 + q) * std::pow(q, static_cast<double>(std::abs(z)));
            sum.swap(next);
            center += more;
        }
        most = center / denominator + 1;
        mass.resize(2 * static_cast<std::size_t>(most) + 1);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const auto value = static_cast<double>(static_cast<std::int64_t>(i) - center);
            const double rounded = std::floor(value / static_cast<double>(denominator) + 0.5);
            mass[static_cast<std::size_t>(static_cast<std::int64_t>(rounded) + most)] += sum[i];
        }
        while (mass.front() + mass.back() < 1e-9) { // less than 1e-6 in all
            mass.erase(mass.begin());
            mass.pop_back();
            --most;
        }
    }

    /// That of a release, from the distribution that noise_distribution_test.cpp checks.
    explicit Law(const NoiseSum& noise) {
        const NoiseDistribution distribution(noise);
        std::vector<double> half; // of 0, 1, ...
        for (double before = 0; before < 1 - 1e-6;) {
            const auto width = static_cast<std::int64_t>(half.size());
            const double within = distribution.probability_within(width, 1e-6).low;
            half.push_back(width == 0 ? within : (within - before) / 2);
            before = within;
        }
        most = static_cast<std::int64_t>(half.size()) - 1;
        for (std::int64_t n = -most; n <= most; ++n)
            mass.push_back(half[static_cast<std::size_t>(std::abs(n))]);
    }

    /// Calls visit(N_A, N_B, probability) for each pair.
    template <class Visit>
    void for_each_pair(Visit&& visit) const {
        for (std::int64_t a = -most; a <= most; ++a)
            for (std::int64_t b = -most; b <= most; ++b)
                visit(a, b,
                      mass[static_cast<std::size_t>(a + most)] *
                          mass[static_cast<std::size_t>(b + most)]);
    }

    [[nodiscard]] double variance() const {
        double sum = 0;
        for (std::int64_t n = -most; n <= most; ++n)
            sum += mass[static_cast<std::size_t>(n + most)] * static_cast<double>(n * n);
        return sum;
    }
};

NoiseSum noise_sum(double scale, const std::vector<std::int64_t>& coefficients,
                   std::int64_t denominator) {
    NoiseSum sum{{}, denominator};
    for (const std::int64_t coefficient : coefficients)
        sum.terms.push_back({coefficient, {Epsilon(1 / scale), 1}, 1});
    return sum;
}

/// The quantile at p = part / (10 kShareCells), on the chord.
double on_chord(const ShareQuantiles& quantiles, int part) {
    const auto at = [&](int node) {
        return quantiles.at(node <= kShareCells / 2 ? node : kShareCells - node);
    };
    const double weight = part % 10 / 10.0;
    return (1 - weight) * at(part / 10) + (weight > 0 ? weight * at(part / 10 + 1) : 0);
}

TEST(ShareQuantiles, HoldTheConfidenceAtEachShareAndHardlyMore) {
    struct Case {
        double scale;
        std::vector<std::int64_t> coefficients;
        std::int64_t denominator;
    };
    // Of 0.25, one release has no noise with more than 95 %, but not both; of 0.22, both.
    const Case cases[] = {
        {0.22, {1}, 1},        {0.25, {1}, 1},    {0.5, {1}, 1},         {1, {1}, 1},
        {3, {1}, 1},           {8, {1}, 1},       {1, {1, 1, 1}, 1},     {3, {1, 1, 1, 1, 1}, 1},
        {1, {2, 1, 1}, 2},     {2, {3, 2, 1}, 3}, {4, {7, 3, 5, 5}, 10}, {1, {9, 21, 43}, 64},
        {0.7, {64, 64, 3}, 64}};
    constexpr int kParts = 10 * kShareCells;
    for (const Case& c : cases)
        for (const double confidence : {0.5, 0.95, 0.99}) {
            SCOPED_TRACE(testing::Message() << c.scale << " / " << c.denominator << " x "
                                            << c.coefficients.size() << " " << confidence);
            const int roundings = c.denominator == 1 ? 0 : 1;
            NoiseSum noise = noise_sum(c.scale, c.coefficients, c.denominator);
            noise.roundings = roundings;
            const ShareQuantiles quantiles(noise, confidence);
            const Law law(c.scale, c.coefficients, c.denominator);
            for (int part = 0; part <= kParts; part += 4) {
                const double p = static_cast<double>(part) / kParts;
                const double quantile = on_chord(quantiles, part);
                const double stddev =
                    std::sqrt(law.variance() * ((1 - p) * (1 - p) + p * p)); // of the combination
                // twice what quantiles are too large by, and the chord
                const double slack = 2.1 * std::max(stddev / 128, 1.0 / 16) + 1 + 0.002 * quantile;
                double within = 0;
                double surely = 0;
                law.for_each_pair([&](std::int64_t a, std::int64_t b, double mass) {
                    const double x =
                        std::abs(static_cast<double>((kParts - part) * a - part * b)) / kParts;
                    within += x <= quantile + 1e-9 ? mass : 0;
                    surely += x < quantile - slack - 1e-9 ? mass : 0;
                });
                EXPECT_GE(within, confidence - 2e-6) << p;
                EXPECT_LE(surely, confidence + 4e-5) << p;
            }
        }
}

TEST(ShareQuantiles, WideNoiseHasTheContinuousLimit) {
    // P(|X| > x) of one continuous Laplace variable, and of the mean of two, in units of the scale.
    constexpr double kOne = 2.995732273553991;
    constexpr double kMeanOfTwo = 4.113003280719639 / 2; // (1 + x) exp(-2 x) is 0.05
    for (const double scale : {1e4, 1e6, 1e8}) {
        const ShareQuantiles quantiles(noise_sum(scale, {1}, 1), 0.95);
        for (const auto& [node, quantile] : {std::pair(0, kOne), std::pair(8, kMeanOfTwo)}) {
            const double stddev = scale * (node == 0 ? std::sqrt(2) : 1);
            EXPECT_GE(quantiles.at(node), quantile * scale - 1) << scale;
            EXPECT_LE(quantiles.at(node), quantile * scale + stddev / 64 + 1) << scale;
        }
    }
}

TEST(ShareQuantiles, WithoutNoiseThereIsNone) {
    EXPECT_LT(ShareQuantiles({}, 0.95).at(3), 1e-300);
    EXPECT_LT(ShareQuantiles(noise_sum(1e-3, {1, 1, 1}, 2), 0.999).at(8), 1e-300);
    for (const double confidence : {0.0, 1.0, 0.9999999999, std::nan("")})
        EXPECT_THROW(ShareQuantiles(noise_sum(1, {1}, 1), confidence), Error) << confidence;
}

TEST(ShareInterval, IsTheHullOfWhatPasses) {
    const auto always = [](double quantile) { return [=](int) { return quantile; }; };
    const auto expect = [](const ShareInterval& share, double low, double high) {
        EXPECT_NEAR(share.low, low, 1e-12);
        EXPECT_NEAR(share.high, high, 1e-12);
    };
    expect(share_interval(30, 70, always(5)), 0.25, 0.35);
    expect(share_interval(3, 97, always(5)), 0, 0.08);
    expect(share_interval(-3, 103, always(5)), 0, 0.02);
    expect(share_interval(99, 1, always(5)), 0.94, 1);
    expect(share_interval(2, 1, always(5)), 0, 1);
    expect(share_interval(-6, 106, always(5)), 0, 5.0 / 106); // as 0, 106
    expect(share_interval(0, 0, always(5)), 0, 1);            // nothing is known
    expect(share_interval(5, -5, always(5)), 0, 1);
    expect(share_interval(-50, -50, always(5)), 0, 1);
    expect(share_interval(30, 70, always(1e-300)), 0.3, 0.3);
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    expect(share_interval(kMost, kMost, always(5)), 0.5, 0.5);
    expect(share_interval(kMost, kLeast, always(5)), 0, 1);
}

TEST(ShareInterval, MatchesATestOfEachShare) {
    std::mt19937 random(7);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    int narrow = 0;
    int empty = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        // a norm of (1 - p, p), and releases around it
        const double half = 5 + below(40);
        const double round = below(100) / 100.0;
        const auto quantile = [&](double p) {
            return half * (round * std::hypot(1 - p, p) + (1 - round) * std::max(1 - p, p));
        };
        const std::int64_t a = below(200) - 30;
        const std::int64_t b = below(200) - 30;
        const ShareInterval share = share_interval(
            a, b, [&](int node) { return quantile(static_cast<double>(node) / kShareCells); });
        if (a + b <= 0) {
            EXPECT_TRUE(share.low == 0 && share.high == 1);
            continue;
        }
        double low = 1;
        double high = 0;
        constexpr int kSteps = 4000;
        for (int i = 0; i <= kSteps; ++i) {
            const double p = static_cast<double>(i) / kSteps;
            const double lack = static_cast<double>(a) * (1 - p) - static_cast<double>(b) * p;
            if (std::abs(lack) > quantile(p))
                continue;
            low = std::min(low, p);
            high = std::max(high, p);
        }
        if (low > high) { // as though the one below 0 were 0
            EXPECT_TRUE(a < 0 ? share.low == 0 && share.high <= half / static_cast<double>(b) + 1e-9
                              : share.high == 1 &&
                                    share.low >= 1 - half / static_cast<double>(a) - 1e-9);
            ++empty;
            continue;
        }
        EXPECT_LE(share.low, low) << a << " " << b;
        EXPECT_GE(share.high, high) << a << " " << b;
        const double chord =
            0.01 * half / static_cast<double>(a + b); // what chords add, and a step
        EXPECT_GE(share.low, low - chord - 1.0 / kSteps - 0.02) << a << " " << b;
        EXPECT_LE(share.high, high + chord + 1.0 / kSteps + 0.02) << a << " " << b;
        narrow += share.high - share.low < 0.5 ? 1 : 0;
    }
    EXPECT_GT(narrow, 500);
    EXPECT_GT(empty, 20);
}

TEST(ShareInterval, IsRememberedByLaw) {
    MechanismCache mechanisms;
    Forecast forecast(mechanisms);
    const Request daily{365, PrivacyUnit(Epsilon(1.0)), {}, {}};
    const Request endless{kUnbounded, PrivacyUnit(Epsilon(0.5), 30), {}, {}};
    const auto expect_same = [&](const Request& request, std::int64_t t, double confidence,
                                 std::int64_t since) {
        const ShareQuantiles quantiles(StreamError(request).noise_at(t, since), confidence);
        const ShareInterval share =
            share_interval(3000, 7000, [&](int node) { return quantiles.at(node); });
        const ShareInterval other =
            share_interval(7000, 3000, [&](int node) { return quantiles.at(node); });
        EXPECT_NEAR(other.low, 1 - share.high, 1e-12);
        EXPECT_NEAR(other.high, 1 - share.low, 1e-12);
        for (int again = 0; again < 2; ++again) {
            const ShareInterval known =
                forecast.share_interval(request, 3000, 7000, t, confidence, since);
            EXPECT_EQ(known.low, share.low) << t;
            EXPECT_EQ(known.high, share.high) << t;
        }
        return share.high - share.low;
    };
    const double year = expect_same(daily, 364, 0.95, 0);
    const double week = expect_same(daily, 364, 0.95, 357);
    EXPECT_LT(week, year);
    EXPECT_GT(expect_same(daily, 364, 0.99, 0), 1.2 * year);
    EXPECT_GT(expect_same(endless, 364, 0.95, 0), 40 * year);
    EXPECT_GT(expect_same(endless, 364, 0.95, 363), 0);
    EXPECT_EQ(expect_same(daily, 0, 0.95, 0), 0);
    EXPECT_EQ(expect_same(daily, 7, 0.95, 7), 0);
    EXPECT_EQ(expect_same({365, PrivacyUnit(Epsilon(1e9)), {}, {}}, 364, 0.95, 0), 0);
    EXPECT_THROW((void)forecast.share_interval(daily, 1, 1, 5, 1.0), Error);
    EXPECT_THROW((void)forecast.share_interval(daily, 1, 1, 5, 0.95, 6), Error);
}

/// 97.5 % boxes for A and for B, and what they leave of the share.
double width_of_boxes(std::int64_t a, std::int64_t b, std::int64_t width) {
    const auto least = [&](std::int64_t x) {
        return static_cast<double>(std::max(x - width, std::int64_t{0}));
    };
    const auto most = [&](std::int64_t x) {
        return static_cast<double>(std::max(x + width, std::int64_t{0}));
    };
    const auto share = [](double x, double y, double nothing) {
        return x + y > 0 ? x / (x + y) : nothing;
    };
    return share(most(a), least(b), 1) - share(least(a), most(b), 0);
}

// Exact: every pair of noises is visited. A year of days at epsilon 1, the default mechanism.
TEST(ShareInterval, HoldsTheTruthAsOftenAsItSaysAndIsNarrowerThanBoxes) {
    MechanismCache mechanisms;
    Forecast forecast(mechanisms);
    const Request request{365, PrivacyUnit(Epsilon(1.0)), {}, {}};
    constexpr std::int64_t kStep = 200;
    const Law law(forecast.errors(request).noise_at(kStep));
    const ShareQuantiles quantiles(forecast.errors(request).noise_at(kStep), 0.95);
    std::vector<double> quantile;
    for (int node = 0; node <= kShareCells / 2; ++node)
        quantile.push_back(quantiles.at(node));
    EXPECT_NEAR(std::accumulate(law.mass.begin(), law.mass.end(), 0.0), 1, 1e-6);
    EXPECT_NEAR(law.variance() / forecast.errors(request).variance_at(kStep), 1, 1e-3);
    const std::int64_t box = forecast.half_width(request, kStep, 0.975);
    for (const std::int64_t total : {50, 500, 5000})
        for (const int percent : {0, 5, 20, 50, 98}) {
            const std::int64_t a = total * percent / 100;
            const double truth = static_cast<double>(a) / static_cast<double>(total);
            double covered = 0;
            double width = 0;
            double boxes = 0;
            law.for_each_pair([&](std::int64_t noise_a, std::int64_t noise_b, double mass) {
                const std::int64_t private_a = a + noise_a;
                const std::int64_t private_b = total - a + noise_b;
                const auto [low, high] = share_interval(private_a, private_b, [&](int node) {
                    return quantile[static_cast<std::size_t>(node)];
                });
                covered += low <= truth && truth <= high ? mass : 0;
                width += mass * (high - low);
                boxes += mass * width_of_boxes(private_a, private_b, box);
            });
            EXPECT_GE(covered, 0.95 - 1e-6) << total << " " << percent;
            // At the ends only one side can miss, and boxes know that no number is below 0.
            const bool inside = percent >= 5 && percent <= 95;
            EXPECT_LE(covered, inside ? 0.97 : 0.98) << total << " " << percent;
            EXPECT_LE(width, (inside ? 0.85 : 0.92) * boxes) << total << " " << percent;
        }
}

} // namespace
} // namespace dp_counter
