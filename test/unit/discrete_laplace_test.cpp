#include "core/noise/discrete_laplace.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include <boost/math/distributions/chi_squared.hpp>
#include <gtest/gtest.h>

#include "core/noise/keystream.hpp"
#include "unit/mpfr_oracle.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

const LaplaceScale kScales[] = {
    {Epsilon(1e9), 1},  {Epsilon(50.0), 1},  {Epsilon(10.0), 1},         {Epsilon(1.0), 1},
    {Epsilon(1.0), 3},  {Epsilon(0.1), 3},   {Epsilon(0.1), 7},          {Epsilon(0.3), 5},
    {Epsilon(1e-3), 3}, {Epsilon(1e-6), 6},  {Epsilon(1e-9), 1},         {Epsilon(1e-9), 63},
    {Epsilon(1.0), 16}, {Epsilon(2.96), 16}, {Epsilon(1e-9), 1'125'899},
};

/// The sampler's number of digits, from the size that it says it uses.
int digits_of(const DiscreteLaplace& sampler) {
    const LaplaceScale smallest{Epsilon(1e9), 1}; // one digit
    constexpr std::size_t kDigitBytes = 16 * (4 + 8);
    return 1 +
           static_cast<int>((sampler.bytes() - DiscreteLaplace(smallest).bytes()) / kDigitBytes);
}

/// A uniform number is written as its bits, 32 at a time; the sampler's signed words are offset.
std::uint32_t first_word(const mpz_class& uniform, unsigned bits) {
    const mpz_class top = uniform >> (bits - 32);
    return static_cast<std::uint32_t>(top.get_ui()) ^ 0x80000000U;
}

/// Appends the first `count` of a uniform number's `bits` bits.
void append(std::vector<std::uint32_t>& words, const mpz_class& uniform, unsigned count,
            unsigned bits) {
    words.push_back(first_word(uniform, bits));
    for (unsigned read = 32; read < count; read += 32) {
        const mpz_class rest = (uniform >> (bits - read - 32)) & 0xffffffffUL;
        words.push_back(static_cast<std::uint32_t>(rest.get_ui()));
    }
}

constexpr std::uint32_t kPlus = 0x7fffffffU;  // the uniform number 0.11111..
constexpr std::uint32_t kMinus = 0x80000000U; // 0
constexpr std::uint32_t kDigit0 = kPlus;
constexpr std::uint32_t kFull = kMinus; // two words of zeros follow: digit 15

/// Draws with `uniform` / 2^bits as the number behind digit `index`, and numbers close to 1, which
/// mean plus and digit 0, behind the sign and all higher ones. Returns the digit. What the sampler
/// reads after that are zeros: some lower digits.
std::int64_t draw_digit(const DiscreteLaplace& sampler, int index,
                        const std::vector<test::Real>& at_least, const mpz_class& uniform,
                        unsigned bits) {
    const int top = digits_of(sampler) - 1;
    std::vector<std::uint32_t> words{kPlus};
    words.insert(words.end(), static_cast<std::size_t>(top - index), kDigit0);
    const mpz_class first = uniform >> (bits - 32);
    bool tie = first == 0; // with the sampler's sixteenth, unreachable threshold
    for (const test::Real& threshold : at_least)
        tie |= threshold.scaled(32) == first;
    append(words, uniform, tie ? bits : 32, bits);
    test::Script script(words);
    return test::draw(sampler, script) >> (4 * index);
}

/// Draws with `uniform` / 2^bits as the number behind the sign. Returns whether it is minus.
bool draw_minus(const DiscreteLaplace& sampler, const test::Real& minus, const mpz_class& uniform,
                unsigned bits) {
    std::vector<std::uint32_t> words;
    append(words, uniform, minus.scaled(32) == uniform >> (bits - 32) ? bits : 32, bits);
    test::Script script(words);
    return test::draw(sampler, script) < 0;
}

TEST(DiscreteLaplace, SignFollowsTheExactThreshold) {
    // As for the digits, below.
    int decided = 0;
    for (const LaplaceScale& scale : kScales) {
        const DiscreteLaplace sampler(scale);
        const test::Real minus = test::minus_probability(scale);
        for (const unsigned bits : {32U, 96U, 160U, 224U})
            for (const int offset : {-1, 0, 1}) {
                const mpz_class uniform = minus.scaled(bits) + offset;
                if (uniform < 0 || minus.scaled(1500) == 0)
                    continue;
                ASSERT_EQ(draw_minus(sampler, minus, uniform, bits),
                          (uniform << 1700) < minus.scaled(1700 + bits))
                    << "scale " << scale.value() << " bits " << bits << " offset " << offset;
                ++decided;
            }
    }
    EXPECT_GT(decided, 150);
}

TEST(DiscreteLaplace, DigitsFollowTheExactThresholds) {
    // Around every threshold of every digit: numbers that differ from it in the 32nd, 96th, 160th
    // and 224th bit, against 2000-bit MPFR.
    int decided = 0;
    for (const LaplaceScale& scale : kScales) {
        const DiscreteLaplace sampler(scale);
        const int digits = digits_of(sampler);
        for (int index = 0; index < digits; ++index) {
            std::vector<test::Real> at_least;
            for (int j = 1; j <= 15; ++j)
                at_least.push_back(test::digit_at_least(scale, index, j, index == digits - 1));
            for (const test::Real& threshold : at_least)
                for (const unsigned bits : {32U, 96U, 160U, 224U})
                    for (const int offset : {-1, 0, 1}) {
                        const mpz_class uniform = threshold.scaled(bits) + offset;
                        if (uniform < 0 || threshold.scaled(1500) == 0)
                            continue; // exp(-1e9): a number of zeros alone never decides
                        std::int64_t expected = 0; // the number ends in zeros
                        for (const test::Real& other : at_least)
                            expected += (uniform << 1700) < other.scaled(1700 + bits) ? 1 : 0;
                        ASSERT_EQ(draw_digit(sampler, index, at_least, uniform, bits), expected)
                            << "scale " << scale.value() << " digit " << index << " bits " << bits
                            << " offset " << offset;
                        ++decided;
                    }
        }
    }
    EXPECT_GT(decided, 5000);
}

TEST(DiscreteLaplace, TopDigitGoesOnWhereItIsFull) {
    const DiscreteLaplace sampler({Epsilon(1e9), 1}); // one digit, never reached in earnest
    // Below every threshold q^j: the uniform number 0, to as many bits as it takes to say so.
    test::Script script({kPlus, kFull, 0});
    // exp(-15e9) is positive, so a number that is exactly 0 in all bits read so far is undecided
    // until the enclosure at more bits excludes it; the script runs out first.
    EXPECT_THROW((void)test::draw(sampler, script), std::logic_error);

    const DiscreteLaplace wide({Epsilon(1.0), 5}); // top digit: q^16 = exp(-3.2), 15 needs exp(-48)
    ASSERT_EQ(digits_of(wide), 2);
    test::Script once({kPlus, kFull, 0, 0, kDigit0, kDigit0});
    EXPECT_EQ(test::draw(wide, once), 15 * 16);
    test::Script twice({kMinus, kFull, 0, 0, kFull, 0, 0, kDigit0, kDigit0});
    EXPECT_EQ(test::draw(wide, twice), -1 - 30 * 16);
}

TEST(DiscreteLaplace, EitherSignHasValuesOfItsOwn) {
    const DiscreteLaplace sampler({Epsilon(10.0), 1});
    test::Script script({kPlus, kDigit0, kMinus, kDigit0});
    EXPECT_EQ(test::draw(sampler, script), 0);
    EXPECT_EQ(test::draw(sampler, script), -1);
}

/// How many of all 2^32 words, less one at most, give digit `index` (or the sign, -1) at least
/// `value`; the other words stay as they are. By bisection: the digit falls as the word grows.
double words_with_at_least(const DiscreteLaplace& sampler, int index, std::int64_t value) {
    const int digits = digits_of(sampler);
    const auto drawn = [&](std::uint64_t word) {
        std::vector<std::uint32_t> words(static_cast<std::size_t>(1 + digits), kDigit0);
        words[static_cast<std::size_t>(index < 0 ? 0 : digits - index)] =
            static_cast<std::uint32_t>(word) ^ kMinus;
        test::Script script(words);
        const std::int64_t z = test::draw(sampler, script);
        return index < 0 ? -z : z >> (4 * index);
    };
    std::uint64_t low = 1; // the word 0 would have a full digit read on
    std::uint64_t high = std::uint64_t{1} << 32;
    while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (drawn(middle) >= value)
            low = middle + 1;
        else
            high = middle;
    }
    return static_cast<double>(low);
}

TEST(DiscreteLaplace, ProbabilitiesAreThoseOfTheDefinition) {
    // What the sampler does with every word, multiplied up: P(z) = (1 - q) / (1 + q) q^|z|.
    for (const double scale : {0.1, 0.3, 1.0, 3.0, 10.0, 30.0}) {
        const DiscreteLaplace sampler({Epsilon(1 / scale), 1});
        const int digits = digits_of(sampler);
        const auto at_least = [&](int index, int value) {
            return value == 16 ? 0 : words_with_at_least(sampler, index, value) / 0x1p32;
        };
        const double minus = at_least(-1, 1);
        std::vector<double> magnitude{1}; // P(G = n)
        for (int index = digits - 1; index >= 0; --index) {
            std::vector<double> longer;
            double digit[16];
            for (int j = 0; j < 16; ++j)
                digit[j] = (j == 0 ? 1 : at_least(index, j)) - at_least(index, j + 1);
            for (const double known : magnitude)
                for (const double next : digit)
                    longer.push_back(known * next);
            magnitude.swap(longer);
        }
        const double q = std::exp(-1 / scale);
        double n = 0;
        for (const double p : magnitude) {
            EXPECT_NEAR((1 - minus) * p, (1 - q) / (1 + q) * std::pow(q, n), 1e-8) << scale;
            EXPECT_NEAR(minus * p, (1 - q) / (1 + q) * std::pow(q, n + 1), 1e-8) << scale;
            ++n;
        }
    }
}

TEST(DiscreteLaplace, ReportsOverflowInsteadOfWrapping) {
    const DiscreteLaplace widest({Epsilon(1e-9), 1'125'899}); // just below max_scale()
    ASSERT_EQ(digits_of(widest), 14);
    EXPECT_THROW(DiscreteLaplace({Epsilon(1e-9), 1'125'900}), Error);
    EXPECT_THROW(DiscreteLaplace({Epsilon(1e-9), uint128{1} << 100}), Error);
    EXPECT_THROW(DiscreteLaplace({Epsilon(1.0), 0}), Error);

    constexpr int kMost = 68; // full top digits below 2^62
    for (const std::uint32_t sign : {kPlus, kMinus}) {
        std::vector<std::uint32_t> words{sign};
        for (int i = 0; i < kMost; ++i)
            words.insert(words.end(), {kFull, 0, 0});
        words.insert(words.end(), 14, kDigit0);
        test::Script most(words);
        const std::int64_t magnitude = std::int64_t{15 * kMost} << 52;
        EXPECT_EQ(test::draw(widest, most), sign == kPlus ? magnitude : -1 - magnitude);
        words.insert(words.begin() + 1, {kFull, 0, 0});
        test::Script too_much(words);
        EXPECT_THROW((void)test::draw(widest, too_much), Error);
    }
}

TEST(DiscreteLaplace, UsesOnlyThePartThatItSays) {
    const DiscreteLaplace sampler({Epsilon(0.1), 3});
    alignas(DiscreteLaplace) unsigned char part[sizeof(DiscreteLaplace)];
    std::memset(part, 0xee, sizeof part);
    std::memcpy(part, static_cast<const void*>(&sampler), sampler.bytes());
    std::vector<std::uint32_t> words;
    for (std::uint32_t i = 0; i < 250; ++i)
        words.push_back(i * 2654435761U);
    test::Script one(words);
    test::Script two(words);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(test::draw(sampler, one),
                  test::draw(*reinterpret_cast<const DiscreteLaplace*>(part), two));
}

/// Pearson's statistic of n draws in cells of |z| with about equal probability under `scale`,
/// against the probabilities under `assumed`; the signs are cells of their own.
struct Fit {
    double statistic;
    int degrees;
};

double tail(double m, double q_log) { // P(|z| >= m), m >= 1: 2 q^m / (1 + q)
    return m <= 0 ? 1 : 2 * std::exp(-m * q_log) / (1 + std::exp(-q_log));
}

Fit fit(const std::vector<std::int64_t>& draws, double scale, double assumed) {
    std::vector<double> edges{0};
    for (int i = 1; i < 40; ++i) { // quantiles of |z|
        const double edge = std::ceil(-std::log(1 - i / 40.0) * scale);
        if (edge > edges.back() && tail(edge, 1 / scale) > 0.001)
            edges.push_back(edge);
    }
    std::vector<double> observed(2 * edges.size());
    for (const std::int64_t z : draws) {
        const double m = std::abs(static_cast<double>(z));
        std::size_t cell = edges.size() - 1;
        while (edges[cell] > m)
            --cell;
        observed[2 * cell + (z < 0 ? 1 : 0)] += 1;
    }
    const double zero = std::tanh(0.5 / assumed); // (1 - q) / (1 + q)
    Fit result{0, -1};
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const double next = i + 1 < edges.size() ? tail(edges[i + 1], 1 / assumed) : 0;
        double p = tail(edges[i], 1 / assumed) - next;
        double plus = p / 2;
        double minus = p / 2;
        if (i == 0) { // zero has no sign
            plus = (p - zero) / 2 + zero;
            minus = (p - zero) / 2;
        }
        for (const auto& [expected, seen] :
             {std::pair(plus, observed[2 * i]), std::pair(minus, observed[2 * i + 1])}) {
            const double n = expected * static_cast<double>(draws.size());
            if (n < 100) { // too rare for the statistic; Poisson's tail here is below 1e-13
                EXPECT_LT(seen, n + 7 * std::sqrt(std::max(n, 0.0)) + 30);
                continue;
            }
            result.statistic += (seen - n) * (seen - n) / n;
            ++result.degrees;
        }
    }
    return result;
}

double critical(int degrees) { // false-alarm rate 1e-8 each, 1e-7 for the eleven scales together
    return boost::math::quantile(
        boost::math::complement(boost::math::chi_squared(std::max(degrees, 1)), 1e-8));
}

TEST(DiscreteLaplace, DrawsFitTheDistributionAndNotAnotherScale) {
    Keystream random;
    for (const double scale : {0.1, 0.3, 1.0, 3.0, 30.0, 47.3, 300.0, 1e4, 1e6, 1e9, 6.3e10}) {
        const LaplaceScale exact{Epsilon(scale >= 1e9 ? 1e-9 : 1 / scale),
                                 scale >= 1e9 ? static_cast<uint128>(scale / 1e9) : 1};
        const DiscreteLaplace sampler(exact);
        std::vector<std::int64_t> draws(500000);
        for (std::int64_t& z : draws)
            z = test::draw(sampler, random);
        const Fit good = fit(draws, exact.value(), exact.value());
        EXPECT_LT(good.statistic, critical(good.degrees)) << "scale " << scale;
        // Power: the scale of a tree of one level more or less, (h+-1)/h at h = 30, is rejected.
        // (At scale 0.1 one draw in ten thousand is not zero: too few to tell 3 %.)
        for (const double wrong : {29.0 / 30, 31.0 / 30}) {
            if (scale < 0.3)
                continue;
            const Fit bad = fit(draws, exact.value(), exact.value() * wrong);
            EXPECT_GT(bad.statistic, critical(bad.degrees)) << "scale " << scale;
        }
    }
}

TEST(DiscreteLaplace, MomentsAgree) {
    // Mean within 7 and variance within 8 standard errors (kurtosis at most 6 + 1/variance):
    // false-alarm rate below 1e-11 each by the normal approximation at n = 10^6.
    Keystream random;
    for (const double epsilon : {3.0, 1.0, 0.1, 1e-3}) {
        const LaplaceScale scale{Epsilon(epsilon), 1};
        const DiscreteLaplace sampler(scale);
        constexpr int kDraws = 1000000;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < kDraws; ++i) {
            const auto z = static_cast<double>(test::draw(sampler, random));
            sum += z;
            squares += z * z;
        }
        const double variance = scale.variance();
        EXPECT_NEAR(sum / kDraws, 0, 7 * std::sqrt(variance / kDraws)) << epsilon;
        EXPECT_NEAR(squares / kDraws, variance,
                    8 * variance * std::sqrt((5 + 1 / variance) / kDraws))
            << epsilon;
    }
}

TEST(LaplaceScale, VarianceIsThatOfTheDiscreteDistribution) {
    for (const double epsilon : {30.0, 3.0, 0.5, 0.01}) { // by summing
        const LaplaceScale scale{Epsilon(epsilon), 2};
        const double q = std::exp(-epsilon / 2);
        double sum = 0;
        for (int z = 1; z < 20000; ++z)
            sum += 2.0 * z * z * (1 - q) / (1 + q) * std::pow(q, z);
        EXPECT_NEAR(scale.variance() / sum, 1, 1e-9);
    }
    EXPECT_NEAR((LaplaceScale{Epsilon(1e-6), 3}.variance()), 2 * 9e12 - 1.0 / 6, 0.1);
    EXPECT_EQ((LaplaceScale{Epsilon(1e9), 1}.variance()), 0);
}

} // namespace
} // namespace dp_counter
