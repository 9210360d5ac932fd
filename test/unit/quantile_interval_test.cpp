#include "core/accuracy/quantile_interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/noise_distribution.hpp"
#include "core/count/bins_law.hpp"
#include "core/noise/privacy_unit.hpp"

namespace dp_counter {
namespace {

constexpr double kConfidence = 0.95;

BinsNoise noise_of(double scale, std::int64_t lag = 1) {
    return {PrivacyUnit(Epsilon(1 / scale)).scale(1), lag};
}

/// P(X = -reach) .. P(X = reach), X a sum of discrete Laplace variables times integers. Each is a
/// difference of two geometric ones: two recursive filters, which convolve exactly.
class Law {
public:
    explicit Law(std::int64_t reach)
        : reach_(reach), mass_(static_cast<std::size_t>(2 * reach + 1)) {
        mass_[static_cast<std::size_t>(reach)] = 1;
    }
    void add(std::int64_t coefficient, double scale, std::int64_t times) {
        const double q = std::exp(-1 / scale);
        const auto step = static_cast<std::size_t>(coefficient);
        const std::size_t size = mass_.size();
        for (; times > 0; --times) {
            for (std::size_t i = 0; i < size; ++i)
                mass_[i] = (1 - q) * mass_[i] + (i < step ? 0 : q * mass_[i - step]);
            for (std::size_t i = size; i-- > 0;)
                mass_[i] = (1 - q) * mass_[i] + (i + step >= size ? 0 : q * mass_[i + step]);
        }
    }
    [[nodiscard]] double at(std::int64_t x) const {
        return mass_[static_cast<std::size_t>(x + reach_)];
    }
    [[nodiscard]] double at_least(std::int64_t x) const {
        double sum = 0;
        for (std::int64_t y = reach_; y >= x; --y)
            sum += at(y);
        return sum;
    }
    /// The least q with P(X < -q) and P(X >= q) at most half of the risk.
    [[nodiscard]] std::int64_t quantile(double risk) const {
        double above = 0;
        std::int64_t q = reach_ + 1;
        while (above + at(q - 1) <= risk / 2)
            above += at(--q);
        return q;
    }

private:
    std::int64_t reach_;
    std::vector<double> mass_;
};

/// Of the excess of a bin, numbered from 0.
Law law_of(double scale, std::int64_t lag, int bins, int bin, const Fraction& p) {
    const double widest = std::max(p.numerator, p.denominator - p.numerator);
    Law law(static_cast<std::int64_t>(
        30 * widest * (std::sqrt(2.0 * static_cast<double>(bins * lag)) * scale + 1)));
    law.add(p.denominator - p.numerator, scale, (bin + 1) * lag);
    law.add(p.numerator, scale, (bins - bin - 1) * lag);
    return law;
}

std::vector<int128> wide(std::span<const std::int64_t> counts) {
    return {counts.begin(), counts.end()};
}

/// percentile_disc over bins: the first bin up to which p of all are.
int true_bin(std::span<const std::int64_t> counts, const Fraction& p) {
    const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (p.denominator * (sum += counts[i]) >= p.numerator * all)
            return static_cast<int>(i);
    return static_cast<int>(counts.size()) - 1;
}

/// The definition, with every q.
BinRange range_by_definition(const HistogramSums& sums, const Fraction& p,
                             std::span<const std::int64_t> q) {
    BinRange range{sums.bins() - 1, 0};
    for (int j = sums.bins() - 2; j >= 0; --j)
        if (sums.excess(j, p) >= -q[static_cast<std::size_t>(j)])
            range.first = j;
    for (int j = 1; j < sums.bins(); ++j)
        if (sums.excess(j - 1, p) < q[static_cast<std::size_t>(j - 1)])
            range.last = j;
    return range;
}

const Fraction kFractions[] = {{1, 2}, {1, 4}, {9, 10}, {1, 3}, {19, 20}, {1, 1000}, {999, 1000}};

TEST(QuantileTest, HasTheQuantileOfTheExactLaw) {
    int laws = 0;
    for (const double scale : {0.2, 0.5, 1 / std::log(2.0), 2.0, 12.0})
        for (const std::int64_t lag : {1, 3})
            for (const int bins : {2, 5, 12})
                for (const Fraction& p : kFractions) {
                    if (p.denominator > 10 && scale * bins * static_cast<double>(lag) > 20)
                        continue; // the oracle would take long
                    QuantileTest test(noise_of(scale, lag), bins, p, kConfidence);
                    for (int bin = 0; bin < bins - 1; ++bin, ++laws)
                        EXPECT_EQ(test.quantile(bin),
                                  law_of(scale, lag, bins, bin, p).quantile(1 - kConfidence))
                            << scale << " lag " << lag << " bins " << bins << " bin " << bin
                            << " p " << p.numerator << "/" << p.denominator;
                }
    EXPECT_GT(laws, 800);
}

TEST(QuantileTest, TwoBins) {
    // N_1 - N_2, q = 1/2: P(X = 0) = 5/27
    const Law law = law_of(1 / std::log(2.0), 1, 2, 0, {1, 2});
    EXPECT_NEAR(law.at(0), 5.0 / 27, 1e-12);
    EXPECT_NEAR(law.at_least(1), 11.0 / 27, 1e-12);
    const std::vector<std::int64_t> counts{7, 3};
    const HistogramSums sums(wide(counts));
    EXPECT_EQ(static_cast<std::int64_t>(sums.excess(0, {1, 2})), 4);
    EXPECT_EQ(static_cast<std::int64_t>(sums.excess(1, {1, 2})), 10);
    QuantileTest test(noise_of(1 / std::log(2.0)), 2, {1, 2}, kConfidence);
    EXPECT_EQ(test.quantile(0), 7);
    EXPECT_NEAR(law.at_least(7), 29.0 / 1728, 1e-12); // P(X = k) = (k + 5/3) / 2^k / 9
    EXPECT_NEAR(law.at_least(6), 13.0 / 432, 1e-12);
    const std::int64_t ends[] = {0, 10};
    const HistogramQuantile unknown = quantile_of(sums, ends, test);
    EXPECT_FALSE(unknown.low || unknown.high || unknown.value); // 4 is below 7
    const std::vector<std::int64_t> more{14, 6};
    const HistogramQuantile quantile = quantile_of(HistogramSums(wide(more)), ends, test);
    EXPECT_NEAR(*quantile.value, 50.0 / 7, 1e-12);
    EXPECT_FALSE(quantile.low);
    EXPECT_EQ(*quantile.high, 10);
}

// The rank that is half of all is off by half of what the sum of all noises is.
TEST(QuantileTest, ErrorOfAMedian) {
    for (const std::int64_t lag : {1, 12})
        for (const int bins : {2, 3, 8, 20}) {
            const RankError error = median_error(noise_of(12, lag), bins,
                                                 widest_bin(noise_of(12, lag), bins), kConfidence);
            const LaplaceScale scale = PrivacyUnit(Epsilon(1.0 / 12)).scale(1);
            EXPECT_NEAR(error.stddev,
                        std::sqrt(static_cast<double>(lag * bins) * scale.variance()) / 2, 1e-9);
            const NoiseDistribution all({{{1, scale, lag * bins}}});
            EXPECT_EQ(error.half_width, (all.half_width(kConfidence) + 1) / 2) << bins;
        }
    // of totals: that of the bin where it is greatest, one of the first
    const BinsLaw law(PrivacyUnit(Epsilon(1.0)), 1024);
    const ReleaseError totals(make_mechanism(law.totals()));
    const BinsNoise noise{&totals, 1};
    const RankError error = median_error(noise, 1024, widest_bin(noise, 1024), kConfidence);
    EXPECT_NEAR(error.stddev, 11.6, 0.1); // by 3,000 draws bins 25 to 27 have 11.45 to 11.49
    const QuantileTest test(noise, 1024, {1, 2}, kConfidence);
    for (int bin = 0; bin < 1023; ++bin)
        EXPECT_LE(CharacteristicFunction(test.noise(bin)).variance(),
                  4 * error.stddev * error.stddev + 1e-9);
    EXPECT_NEAR(static_cast<double>(error.half_width), 1.96 * error.stddev, 2);
}

/// For each released histogram, but for a probability of 1e-5.
template <class Visit>
void for_each_release(const std::array<std::int64_t, 3>& counts, double scale, std::int64_t lag,
                      Visit&& visit) {
    Law law(200);
    law.add(1, scale, lag);
    std::int64_t most = 1;
    while (law.at(most) > 1e-6)
        ++most;
    std::vector<int128> released(3);
    for (std::int64_t a = -most; a <= most; ++a)
        for (std::int64_t b = -most; b <= most; ++b)
            for (std::int64_t c = -most; c <= most; ++c) {
                released = {counts[0] + a, counts[1] + b, counts[2] + c};
                visit(released, law.at(a) * law.at(b) * law.at(c));
            }
}

// All releases of three bins, and what the tests let pass of them.
TEST(QuantileTest, CoversTheTruthWhateverItIs) {
    double least = 1;
    int cases = 0;
    for (const std::int64_t lag : {1, 2})
        for (const Fraction& p : kFractions) {
            QuantileTest test(noise_of(0.8, lag), 3, p, kConfidence);
            for (const std::int64_t a : {0, 2, 20})
                for (const std::int64_t b : {0, 2, 20})
                    for (const std::int64_t c : {0, 2, 20}) {
                        const std::array<std::int64_t, 3> counts{a, b, c};
                        const int truth = true_bin(counts, p);
                        double covered = 0;
                        double all = 0;
                        for_each_release(counts, 0.8, lag,
                                         [&](const std::vector<int128>& released, double mass) {
                                             const BinRange range =
                                                 test.range(HistogramSums(released));
                                             ASSERT_LE(range.first, range.last);
                                             all += mass;
                                             if (range.first <= truth && truth <= range.last)
                                                 covered += mass;
                                         });
                        EXPECT_NEAR(all, 1, 3e-5);
                        EXPECT_GE(covered, kConfidence)
                            << a << " " << b << " " << c << " of " << p.numerator << "/"
                            << p.denominator << " lag " << lag;
                        least = std::min(least, covered);
                        ++cases;
                    }
        }
    EXPECT_EQ(cases, 378);
    EXPECT_LT(least, 0.99); // the intervals are not those of another risk
}

// 20,000 draws each of eight bins, of what is hard: all in one bin, nothing, ties, ends.
TEST(QuantileTest, CoversHostileHistograms) {
    const std::vector<std::int64_t> histograms[] = {
        {0, 0, 0, 400, 0, 0, 0, 0},   {0, 0, 0, 0, 0, 0, 0, 0},  {50, 50, 50, 50, 50, 50, 50, 50},
        {200, 0, 0, 0, 0, 0, 0, 200}, {1, 2, 3, 4, 3, 2, 1, 0},  {0, 100, 0, 0, 0, 100, 0, 0},
        {500, 0, 0, 0, 0, 0, 0, 0},   {0, 0, 0, 0, 0, 0, 0, 500}};
    std::mt19937_64 random(46);
    double least = 1;
    for (const double scale : {2.0, 12.0}) {
        std::geometric_distribution<std::int64_t> geometric(1 - std::exp(-1 / scale));
        for (const Fraction p : {Fraction{1, 2}, Fraction{1, 4}, Fraction{9, 10}}) {
            QuantileTest test(noise_of(scale), 8, p, kConfidence);
            for (const auto& counts : histograms) {
                int covered = 0;
                std::vector<int128> released(8);
                for (int draw = 0; draw < 20000; ++draw) {
                    for (std::size_t i = 0; i < 8; ++i)
                        released[i] = counts[i] + geometric(random) - geometric(random);
                    const BinRange range = test.range(HistogramSums(released));
                    const int truth = true_bin(counts, p);
                    covered += range.first <= truth && truth <= range.last ? 1 : 0;
                }
                least = std::min(least, covered / 20000.0);
            }
        }
    }
    EXPECT_GT(least, kConfidence);
    EXPECT_LT(least, 0.985);
}

TEST(QuantileTest, TestsAllBins) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 150; ++round) {
        const int bins = 2 + static_cast<int>(random() % 100);
        const double scale = std::pow(2.0, static_cast<double>(random() % 8) - 2);
        const Fraction p = kFractions[random() % std::size(kFractions)];
        QuantileTest test(noise_of(scale), bins, p, kConfidence);
        std::vector<std::int64_t> q;
        for (int bin = 0; bin < bins - 1; ++bin)
            q.push_back(test.quantile(bin));
        QuantileTest fresh(noise_of(scale), bins, p, kConfidence);
        for (int i = 0; i < 5; ++i) {
            std::vector<int128> counts;
            for (int bin = 0; bin < bins; ++bin)
                counts.push_back(static_cast<std::int64_t>(random() % 30) * (round % 7) - 10);
            const HistogramSums sums(counts);
            const BinRange expected = range_by_definition(sums, p, q);
            const BinRange range = fresh.range(sums);
            EXPECT_EQ(range.first, expected.first);
            EXPECT_EQ(range.last, expected.last);
            EXPECT_LE(range.first, range.last);
        }
    }
}

// At its edge each test passes, and one beyond it does not.
TEST(QuantileTest, EndsAtTheQuantileItself) {
    QuantileTest test(noise_of(3), 2, {1, 2}, kConfidence);
    const std::int64_t q = test.quantile(0);
    const auto range = [&](std::int64_t excess) { // of the first of two bins, S_1 - S_2
        return test.range(HistogramSums(wide(std::vector<std::int64_t>{1000 + excess, 1000})));
    };
    EXPECT_EQ(range(-q).first, 0);
    EXPECT_EQ(range(-q - 1).first, 1);
    EXPECT_EQ(range(q - 1).last, 1);
    EXPECT_EQ(range(q).last, 0);
}

TEST(QuantileTest, NoNoise) {
    const std::int64_t ends[] = {-5, 0, 10, 20, 40};
    for (const auto& counts :
         {std::vector<std::int64_t>{1, 0, 5, 6, 0}, {0, 0, 9, 0, 0}, {7, 0, 0, 0, 0}})
        for (const Fraction& p : kFractions) {
            QuantileTest test(noise_of(1e-9), 5, p, kConfidence);
            const HistogramSums sums(wide(counts));
            const BinRange range = test.range(sums);
            EXPECT_EQ(range.first, true_bin(counts, p));
            // Where exactly p of all are before it, noise of 1 could place it one later.
            EXPECT_GE(range.last, range.first);
            const HistogramQuantile quantile = quantile_of(sums, ends, test);
            EXPECT_GE(*quantile.value, ends[range.first]);
            EXPECT_LE(*quantile.value, ends[std::min(range.last + 1, 4)]);
        }
}

TEST(HistogramSums, PlaceIsLinearWithinABin) {
    const HistogramSums sums(wide(std::vector<std::int64_t>{10, 0, 30, 60}));
    EXPECT_DOUBLE_EQ(*sums.place({1, 20}), 0.5);
    EXPECT_DOUBLE_EQ(*sums.place({1, 10}), 1);
    EXPECT_DOUBLE_EQ(*sums.place({1, 4}), 2.5);
    EXPECT_DOUBLE_EQ(*sums.place({7, 10}), 3.5);
    EXPECT_FALSE(HistogramSums(wide(std::vector<std::int64_t>{5, -5})).place({1, 2}));
    EXPECT_FALSE(HistogramSums(wide(std::vector<std::int64_t>{-5, 4})).place({1, 2}));
    // sums 4, 1, 10: the path 2.5, 2.5, 10
    EXPECT_DOUBLE_EQ(*HistogramSums(wide(std::vector<std::int64_t>{4, -3, 9})).place({1, 2}),
                     2 + 2.5 / 7.5);
    // sums 9, 12, 8: the path 9, 10, 10 is above all parts of 8
    EXPECT_LT(*HistogramSums(wide(std::vector<std::int64_t>{9, 3, -4})).place({999, 1000}), 1);
}

TEST(HistogramSums, DoNotOverflow) {
    // 366 periods of 4,096 bins with all that fits, times 1000
    const std::vector<int128> counts(4096, int128{366} << 62);
    const HistogramSums sums(counts);
    EXPECT_TRUE(sums.total() == (int128{366} << 74));
    EXPECT_TRUE(sums.excess(0, {999, 1000}) ==
                1000 * (int128{366} << 62) - 999 * (int128{366} << 74));
    EXPECT_TRUE(sums.excess(4095, {1, 1000}) == 999 * (int128{366} << 74));
    QuantileTest test(noise_of(2), 4096, {1, 2}, kConfidence);
    const BinRange range = test.range(sums);
    EXPECT_EQ(range.first, 2047);
    EXPECT_EQ(range.last, 2048);
}

TEST(QuantileTest, RefusesConfidences) {
    EXPECT_THROW(QuantileTest(noise_of(1), 2, {1, 2}, 1), Error);
    EXPECT_THROW(QuantileTest(noise_of(1), 2, {1, 2}, 0), Error);
}

} // namespace
} // namespace dp_counter
