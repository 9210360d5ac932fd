#include "core/accuracy/bins_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/accuracy/noise_distribution.hpp"
#include "core/accuracy/quantile_interval.hpp"
#include "core/base/fixed_point.hpp"
#include "core/count/noise_stream.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

BinsLaw law_of(std::int32_t bins, double scale = 1) {
    return {PrivacyUnit(Epsilon(1 / scale)), bins};
}

/// What each node does to the noise of each total, by drawing 0 but for one: columns of L, and the
/// variance of each node's noise.
struct Responses {
    explicit Responses(const BinsLaw& law) : prepared(make_mechanism(law.totals())) {
        const test::Block memory = test::block_of(NoiseEngine::bytes(prepared));
        for (std::size_t which = 0;; ++which) {
            NoiseEngine* engine = NoiseEngine::create(memory.get(), prepared);
            std::size_t drawn = 0;
            double variance = 0;
            std::vector<double> column{0};
            for (std::int32_t bin = 1; bin <= law.bins; ++bin)
                column.push_back(std::ldexp(static_cast<double>(engine->advance(
                                                prepared,
                                                [&](int scale) -> std::int64_t {
                                                    if (drawn++ != which)
                                                        return 0;
                                                    variance =
                                                        prepared.spec().scale(scale).variance();
                                                    return 1 << 20;
                                                })),
                                            -84));
            if (which >= drawn)
                return;
            columns.push_back(column);
            variances.push_back(variance);
        }
    }
    /// Of the noise of a total times `by`, less that of another one times `times`.
    [[nodiscard]] double variance(std::int64_t bin, std::int64_t since, int times = 1,
                                  int by = 1) const {
        double sum = 0;
        for (std::size_t i = 0; i < columns.size(); ++i)
            sum += variances[i] * std::pow(by * columns[i][static_cast<std::size_t>(bin)] -
                                               times * columns[i][static_cast<std::size_t>(since)],
                                           2);
        return sum;
    }

    PreparedMechanism prepared;
    std::vector<std::vector<double>> columns;
    std::vector<double> variances;
};

// A counter stores the number of its bins alone: with other totals its releases would have wrong
// intervals.
TEST(BinsLaw, HasTheSameTotalsInEachVersion) {
    for (const auto& [bins, distance] :
         {std::pair{100, 15}, {128, 16}, {1000, 45}, {1024, 46}, {4096, 91}}) {
        const Request totals = law_of(bins).totals();
        EXPECT_EQ(totals.horizon, bins);
        EXPECT_EQ(totals.radix, distance);
        EXPECT_EQ(totals.mechanism, Mechanism::hat);
    }
}

// The law of what a bin and a quantile are computed from, against the noise itself.
TEST(BinsError, HasTheLawOfItsResponses) {
    for (const std::int32_t bins : {100, 256, 1024}) {
        const BinsLaw law = law_of(bins);
        const Responses responses(law);
        StreamError totals(law.totals());
        for (std::int32_t bin = 1; bin <= bins; bin += bin == 1 ? 1 : 7) {
            const BinsError errors({law, bin}, totals);
            const double rounding = (bin == 1 ? 1 : 2) * kRoundingVariance;
            const double expected = responses.variance(bin, bin - 1) + rounding;
            EXPECT_NEAR(errors.variance_at(1), expected, 1e-4 * expected);
            EXPECT_NEAR(errors.variance_at(15, 3), 12 * expected, 12e-4 * expected);
            const double of_twelve = 12 * responses.variance(bin, bin - 1);
            EXPECT_NEAR(CharacteristicFunction(errors.noise_at(15, 3)).variance(), of_twelve,
                        1e-4 * of_twelve);
            if (bin < 20) { // off by less than 1 for each period
                NoiseSum rounded_twice = errors.noise_at(4);
                rounded_twice.roundings = 2;
                EXPECT_EQ(test::half_width_of(errors, 4, 0.95),
                          NoiseDistribution(rounded_twice).half_width(0.95) + 3);
            }
            if (bin == bins)
                continue;
            for (const Fraction p : {Fraction{1, 2}, Fraction{1, 10}, Fraction{999, 1000}}) {
                const NoiseSum noise =
                    totals.epoch(0).noise_at(bins, bin, p.denominator, p.numerator);
                const double of_excess = responses.variance(bins, bin, p.denominator, p.numerator);
                EXPECT_NEAR(CharacteristicFunction(noise).variance(), of_excess, 1e-4 * of_excess)
                    << bin << " of " << bins;
            }
        }
    }
}

/// The releases of a period, as the server makes them.
std::vector<int128> released(const std::vector<std::int64_t>& counts,
                             const PreparedMechanism& prepared, RandomSource& random) {
    const test::Block memory = test::block_of(NoiseStream::bytes(prepared));
    NoiseStream* noise = NoiseStream::create(memory.get(), prepared);
    const Release release(prepared.spec().unit, random);
    std::vector<int128> bins;
    int128 total = 0;
    int128 before = 0;
    for (const std::int64_t count : counts) {
        total += count;
        const int128 next = total + noise->advance(release);
        bins.push_back(next - before);
        before = next;
    }
    return bins;
}

// 2,000 draws of five histograms, three scales and two fractions, of one period and of three. Each
// statement fails with a probability below 1e-9 at 0.95.
TEST(BinsError, CoversCountsAndQuantiles) {
    constexpr std::int32_t kBins = 128;
    constexpr int kDraws = 2000;
    const auto shape = [](auto&& count) {
        std::vector<std::int64_t> counts(kBins);
        for (std::size_t i = 0; i < counts.size(); ++i)
            counts[i] = count(static_cast<int>(i));
        return counts;
    };
    const std::vector<std::int64_t> histograms[] = {
        shape([](int) { return 0; }), shape([](int i) { return i == 70 ? 900 : 0; }),
        shape([](int i) { return i % 16 == 0 ? 40 : 0; }),
        shape([](int i) { return i < 3 || i > 124 ? 300 : 0; }),
        shape([](int i) { return 30 - std::abs(i - 40) / 2; })};
    test::Seeded random(46);
    double least = 1;
    for (const double scale : {0.125, 1.0, 6.0}) {
        const BinsLaw law = law_of(kBins, scale);
        const PreparedMechanism prepared(make_mechanism(law.totals()));
        StreamError totals(law.totals());
        for (const std::int64_t lag : {1, 3}) {
            std::vector<QuantileTest> tests;
            for (const Fraction p : {Fraction{1, 2}, Fraction{9, 10}})
                tests.emplace_back(BinsNoise{&totals.epoch(0), lag}, kBins, p, 0.95);
            const std::int64_t width = test::half_width_of(BinsError({law, 60}, totals), lag, 0.95);
            for (const auto& counts : histograms) {
                int covered[3] = {};
                for (int draw = 0; draw < kDraws; ++draw) {
                    std::vector<int128> sums(kBins);
                    for (std::int64_t period = 0; period < lag; ++period) {
                        const std::vector<int128> one = released(counts, prepared, random);
                        for (std::size_t i = 0; i < kBins; ++i)
                            sums[i] += one[i];
                    }
                    const auto off = static_cast<std::int64_t>(sums[59]) - lag * counts[59];
                    covered[2] += std::abs(off) <= width ? 1 : 0;
                    for (std::size_t i = 0; i < tests.size(); ++i) {
                        const Fraction& p = tests[i].fraction();
                        const BinRange range = tests[i].range(HistogramSums(sums));
                        std::int64_t all = std::accumulate(counts.begin(), counts.end(), 0L);
                        std::int32_t truth = 0;
                        for (std::int64_t sum = counts[0]; p.denominator * sum < p.numerator * all;)
                            sum += counts[static_cast<std::size_t>(++truth)];
                        covered[i] += range.first <= truth && truth <= range.last ? 1 : 0;
                    }
                }
                for (const int times : covered)
                    least = std::min(least, times / static_cast<double>(kDraws));
            }
        }
    }
    EXPECT_GT(least, 0.92);
    EXPECT_LT(least, 0.985);
}

// Rounding moves an excess by half of a total and half of p times another one, in each period.
TEST(BinsError, WidensQuantilesByTheirRounding) {
    const ReleaseError totals(make_mechanism(law_of(128, 4).totals()));
    for (const std::int64_t lag : {1, 2, 7})
        for (const Fraction p : {Fraction{1, 2}, Fraction{3, 4}}) {
            NoiseSum noise = totals.noise_at(128, 40, p.denominator, p.numerator);
            for (NoiseTerm& term : noise.terms)
                term.multiplicity *= lag;
            QuantileTest test({&totals, lag}, 128, p, 0.95);
            EXPECT_GE(static_cast<double>(test.quantile(39)),
                      static_cast<double>(NoiseDistribution(noise).half_width(0.95)) + 0.5 +
                          static_cast<double>(lag * (p.denominator + p.numerator)) / 2)
                << lag;
        }
}

// 1.1 times what the best linear weights can do; the design's table, and noise for each bin.
TEST(BinsError, PlacesMedians) {
    const struct {
        std::int32_t bins;
        double error;
    } table[] = {{128, 5.5}, {256, 6.5}, {512, 7.7}, {1024, 9.0}};
    for (const auto& [bins, error] : table) {
        const ReleaseError totals(make_mechanism(law_of(bins).totals()));
        double variance = 0;
        int places = 0;
        for (std::int32_t j = bins / 10; j < bins * 9 / 10; ++j, ++places)
            variance += CharacteristicFunction(totals.noise_at(bins, j, 2, 1)).variance() / 4;
        EXPECT_LE(std::sqrt(variance / places), 1.1 * error) << bins;
        EXPECT_TRUE(is_better_in_totals(law_of(bins).unit, bins));
    }
    for (const std::int32_t bins : {2, 16, 32})
        EXPECT_FALSE(is_better_in_totals(Epsilon(1), bins)) << bins;
    EXPECT_TRUE(is_better_in_totals(Epsilon(1), BinsLaw::kMostBins));
    EXPECT_TRUE(is_better_in_totals({Epsilon(0.5), 6}, 1024));
    EXPECT_FALSE(is_better_in_totals(Epsilon(1e9), 1024));        // a few integers: no noise at all
    EXPECT_FALSE(is_better_in_totals({Epsilon(1e-9), 60}, 1024)); // too much for two levels
}

TEST(BinsError, IsAnsweredByForecasts) {
    MechanismCache plans;
    Forecast forecast(plans);
    const BinsLaw law = law_of(200, 3);
    StreamError totals(law.totals());
    double widest = 0;
    for (std::int32_t bin = 1; bin <= 200; ++bin) {
        const BinsError errors({law, bin}, totals);
        widest = std::max(widest, errors.variance_at(1));
        const AskedBin asked{law, bin};
        EXPECT_DOUBLE_EQ(forecast.variance_at(asked, 9, 4), errors.variance_at(9, 4));
        EXPECT_EQ(forecast.half_width(asked, 9, 0.95, 4), test::half_width_of(errors, 9, 0.95, 4));
    }
    EXPECT_DOUBLE_EQ(forecast.variance_at(AskedBin{law}, 1, 0), widest);
    EXPECT_EQ(forecast.half_width(AskedBin{law}, 3, 0.95, 3), 0);
    EXPECT_THROW((void)forecast.half_width(AskedBin{law}, 3, 1, 3), Error);
    const double most = forecast.variance_at(AskedBin{law}, kMaxHorizon, 0);
    EXPECT_GT(static_cast<double>(forecast.half_width(AskedBin{law}, kMaxHorizon, 0.95)),
              1.9 * std::sqrt(most)); // and all roundings
    EXPECT_THROW((void)forecast.share_interval(AskedBin{law}, 1, 1, 1, 0.95), Error);
    EXPECT_THROW((void)forecast.variance_at(AskedBin{law}, 1, 2), Error);
    EXPECT_THROW((void)law_of(1), Error);
    EXPECT_THROW((void)law_of(BinsLaw::kMostBins + 1), Error);
}

} // namespace
} // namespace dp_counter
