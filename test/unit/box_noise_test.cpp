#include "core/noise/box_noise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <boost/math/distributions/chi_squared.hpp>
#include <gmpxx.h>
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/count/box_state.hpp"
#include "core/noise/keystream.hpp"
#include "unit/mpfr_oracle.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

BoxLaw law(double epsilon, std::int64_t blocks, std::int32_t size) {
    return {{Epsilon(epsilon), blocks}, size};
}

/// P(J >= j) * 2^1500, j = 1..B, from 2000 bits of q.
std::vector<mpz_class> thresholds(const BoxLaw& of) {
    constexpr unsigned kBits = 1900;
    const auto numbers = eulerian_numbers<mpz_class>(of.size);
    const mpz_class q = test::Real::exp_of_minus(test::rate(of.scale())).scaled(kBits);
    std::vector<mpz_class> terms;
    mpz_class power = mpz_class(1) << kBits;
    mpz_class all = 0;
    for (const mpz_class& number : numbers) {
        terms.push_back(number * power);
        all += terms.back();
        power = power * q >> kBits;
    }
    std::vector<mpz_class> result;
    mpz_class above = all;
    for (std::size_t j = 0; j + 1 < terms.size(); ++j) {
        above -= terms[j];
        result.push_back((above << 1500) / all);
    }
    return result;
}

constexpr std::uint32_t kNoMore = 0x7fffffffU; ///< digit 0 of a geometric variable

/// The words of uniform / 2^bits, and then kNoMore.
std::vector<std::uint32_t> words_of(const mpz_class& uniform, unsigned bits) {
    std::vector<std::uint32_t> words;
    for (unsigned read = 32; read <= bits; read += 32) {
        const mpz_class word = (uniform >> (bits - read)) & 0xffffffffUL;
        words.push_back(static_cast<std::uint32_t>(word.get_ui()));
    }
    words.resize(248, kNoMore);
    return words;
}

TEST(BoxNoise, OffsetFollowsTheExactThresholds) {
    // Numbers that differ from a threshold in the 128th or 192nd bit. What comes after them is
    // kNoMore, which also makes all geometric variables 0: the radius is J.
    int decided = 0;
    for (const BoxLaw& of : {law(1, 4, 4), law(3, 4, 4), law(20, 4, 4), law(1, 3, 2), law(5, 1, 1),
                             law(1, 5, 13), law(9, 2, 30), law(2, 1, 64), law(200, 2, 64)}) {
        const BoxNoise sampler(of);
        const std::vector<mpz_class> at_least = thresholds(of);
        for (const mpz_class& threshold : at_least)
            for (const unsigned bits : {128U, 192U})
                for (const int offset : {-1, 0, 1}) {
                    const mpz_class uniform = (threshold >> (1500 - bits)) + offset;
                    if (uniform < 0 || uniform >> bits != 0 || threshold == 0)
                        continue;
                    mpz_class number = uniform; // to 1500 bits and more
                    for (unsigned more = bits; more < 1500; more += 32)
                        number = (number << 32) + static_cast<unsigned long>(kNoMore);
                    const unsigned all = bits + (1500 - bits + 31) / 32 * 32;
                    const auto expected =
                        std::count_if(at_least.begin(), at_least.end(), [&](const mpz_class& t) {
                            return number < t << (all - 1500);
                        });
                    test::Script script(words_of(uniform, bits));
                    ASSERT_EQ(Release(of.unit, script).draw_radius(sampler), expected)
                        << "size " << of.size << " bits " << bits << " offset " << offset;
                    ++decided;
                }
    }
    EXPECT_GT(decided, 700);
}

TEST(BoxNoise, StepsAreUniform) {
    // Of 2^128 numbers equally many lead to each step, and the others are drawn again: the first
    // and the last one that lead to a step do so, and their neighbors lead elsewhere.
    const BoxNoise sampler(law(1, 4, 4));
    const mpz_class all = mpz_class(1) << 128;
    constexpr std::int64_t kAgain = -3; // what the numbers after it lead to
    for (const std::int64_t radius : {std::int64_t{5}, std::int64_t{1} << 20,
                                      (std::int64_t{1} << 40) + 7, (std::int64_t{1} << 62) - 1}) {
        const mpz_class width = 2 * mpz_class(static_cast<long>(radius)) + 1;
        const mpz_class out = all % width;
        const auto draw = [&](const mpz_class& uniform) {
            // next64 gives the low half first
            std::vector<std::uint32_t> words;
            const auto add = [&](const mpz_class& number) {
                for (const unsigned shift : {32U, 0U, 96U, 64U}) {
                    const mpz_class word = (number >> shift) & 0xffffffffUL;
                    words.push_back(static_cast<std::uint32_t>(word.get_ui()));
                }
            };
            add(uniform);
            add((all * (radius + kAgain) + all / 2) / width);
            test::Script script(words);
            return Release(sampler.law().unit, script).draw_within(sampler, radius);
        };
        for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, radius, 2 * radius}) {
            const mpz_class step = static_cast<long>(k);
            const mpz_class first = (step * all + out + width - 1) / width;
            const mpz_class last = ((step + 1) * all - 1) / width;
            ASSERT_EQ(last - first + 1, all / width);
            EXPECT_EQ(draw(first), k - radius);
            EXPECT_EQ(draw(last), k - radius);
            const std::int64_t before = draw(first - 1 < 0 ? all - 1 : mpz_class(first - 1));
            EXPECT_NE(before, k - radius == kAgain ? 0 : k - radius);
        }
        EXPECT_EQ(draw(0), kAgain); // 0 is among those that are drawn again
    }
    Keystream random;
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(Release(sampler.law().unit, random).draw_within(sampler, 0), 0);
}

TEST(BoxNoise, IsDrawnAtItsPriceAlone) {
    Keystream random;
    const BoxNoise sampler(law(1, 4, 4));
    EXPECT_NO_THROW((void)Release({Epsilon(1), 4}, random).draw_radius(sampler));
    EXPECT_NO_THROW((void)Release({Epsilon(1), 3}, random).draw_within(sampler, 1));
    EXPECT_THROW((void)Release({Epsilon(1), 5}, random).draw_radius(sampler), std::logic_error);
    EXPECT_THROW((void)Release({Epsilon(0.5), 4}, random).draw_within(sampler, 1),
                 std::logic_error);
    EXPECT_THROW(BoxNoise(law(1e-9, 100, 4)), Error); // a scale beyond 2^36
    EXPECT_NO_THROW(BoxNoise(law(1e-9, 60, 64)));
}

// The law through streams. The radii and the greatest noises of blocks say whether K is right,
// whether a block shares one radius, and whether two blocks do.

/// P(R = r), r = 0, 1, ...
std::vector<double> radii(const BoxLaw& of) {
    std::vector<double> mass;
    double sum = 0;
    for (double r = 0; r < 200 / of.unit.density(); ++r) {
        mass.push_back(std::exp(of.size * std::log(2 * r + 1) - r * of.unit.density() - 40));
        sum += mass.back();
    }
    for (double& m : mass)
        m /= sum;
    return mass;
}

/// P(max |z| = m) in a block.
std::vector<double> greatest(const BoxLaw& of) {
    const std::vector<double> mass = radii(of);
    std::vector<double> within;
    for (std::size_t m = 0; m < mass.size(); ++m) {
        double sum = 0;
        for (std::size_t r = 0; r < mass.size(); ++r)
            sum += mass[r] * std::pow((2.0 * static_cast<double>(std::min(m, r)) + 1) /
                                          (2.0 * static_cast<double>(r) + 1),
                                      of.size);
        within.push_back(sum);
    }
    for (std::size_t m = within.size(); m-- > 1;)
        within[m] -= within[m - 1];
    return within;
}

/// The probability of a fit as bad as this. False alarms: see kFalse.
constexpr double kFalse = 1e-9;

double probability_of_fit(const std::vector<std::int64_t>& draws, const std::vector<double>& law) {
    std::vector<double> seen(law.size());
    for (const std::int64_t draw : draws)
        ++seen[static_cast<std::size_t>(std::min<std::int64_t>(draw, std::ssize(law) - 1))];
    double statistic = 0;
    int cells = 0;
    double expected = 0;
    double count = 0;
    const auto n = static_cast<double>(draws.size());
    for (std::size_t i = 0; i < law.size(); ++i) {
        expected += law[i] * n;
        count += seen[i];
        if (expected < 50 && i + 1 < law.size())
            continue;
        statistic += (count - expected) * (count - expected) / std::max(expected, 1e-3);
        ++cells;
        expected = count = 0;
    }
    return boost::math::cdf(
        boost::math::complement(boost::math::chi_squared(std::max(cells - 1, 1)), statistic));
}

/// The correlation of the greatest noises of two blocks that follow each other, in deviations.
double dependence(const std::vector<std::int64_t>& greatest) {
    double mean = 0;
    for (const std::int64_t g : greatest)
        mean += static_cast<double>(g) / static_cast<double>(greatest.size());
    double both = 0;
    double square = 0;
    for (std::size_t i = 0; i < greatest.size(); ++i) {
        const double one = static_cast<double>(greatest[i]) - mean;
        square += one * one;
        if (i % 2 == 1)
            both += one * (static_cast<double>(greatest[i - 1]) - mean);
    }
    return both / square * 2 * std::sqrt(static_cast<double>(greatest.size()) / 2);
}

/// The greatest noise of each of many blocks.
std::vector<std::int64_t> blocks_of(std::int32_t size, int count,
                                    const std::function<std::int64_t()>& next) {
    std::vector<std::int64_t> result;
    for (int block = 0; block < count; ++block) {
        std::int64_t most = 0;
        for (std::int32_t i = 0; i < size; ++i)
            most = std::max(most, std::abs(next()));
        result.push_back(most);
    }
    return result;
}

constexpr int kBlocks = 100000;

TEST(BoxNoise, StreamsHaveTheLaw) {
    // 15 tests at 1e-9 each, and 5 beyond 6 deviations: false alarms below 1e-7.
    Keystream random;
    for (const BoxLaw& of :
         {law(1, 2, 1), law(1, 4, 2), law(2, 3, 3), law(1, 4, 4), law(1, 5, 5)}) {
        const BoxNoise sampler(of);
        const Release release(of.unit, random);
        std::vector<std::int64_t> drawn;
        for (int i = 0; i < kBlocks; ++i)
            drawn.push_back(release.draw_radius(sampler));
        EXPECT_GT(probability_of_fit(drawn, radii(of)), kFalse) << of.size;

        BoxState state{};
        std::vector<std::int64_t> steps;
        const auto most = blocks_of(of.size, kBlocks, [&] {
            steps.push_back(state.advance(sampler, release));
            return steps.back();
        });
        EXPECT_GT(probability_of_fit(most, greatest(of)), kFalse) << of.size;
        EXPECT_LT(std::abs(dependence(most)), 6) << of.size;
        // One step of each block, by P(z = k) = sum over r >= |k| of P(R = r) / (2r + 1).
        std::vector<std::int64_t> single;
        for (std::size_t i = 0; i < steps.size(); i += static_cast<std::size_t>(of.size))
            single.push_back(std::abs(steps[i]));
        const std::vector<double> mass = radii(of);
        std::vector<double> one(mass.size());
        double above = 0;
        for (std::size_t k = mass.size(); k-- > 0;) {
            above += mass[k] / (2.0 * static_cast<double>(k) + 1);
            one[k] = k == 0 ? above : 2 * above;
        }
        EXPECT_GT(probability_of_fit(single, one), kFalse) << of.size;
    }
}

TEST(BoxNoise, BrokenStreamsAreFlagged) {
    // What the test above sees.
    Keystream random;
    const BoxLaw of = law(1, 4, 4);
    const BoxNoise sampler(of);
    const Release release(of.unit, random);
    BoxState state{};

    const BoxNoise one_less(law(1, 3, 4));
    const auto with_less = blocks_of(
        4, kBlocks, [&] { return state.advance(one_less, Release(one_less.law().unit, random)); });
    EXPECT_LT(probability_of_fit(with_less, greatest(of)), kFalse);

    const auto anew = blocks_of(
        4, kBlocks, [&] { return release.draw_within(sampler, release.draw_radius(sampler)); });
    EXPECT_LT(probability_of_fit(anew, greatest(of)), kFalse);

    std::int64_t kept = 0;
    int step = 0;
    const auto over_two = blocks_of(4, kBlocks, [&] {
        if (step++ % 8 == 0)
            kept = release.draw_radius(sampler);
        return release.draw_within(sampler, kept);
    });
    EXPECT_GT(dependence(over_two), 6);
}

} // namespace
} // namespace dp_counter
