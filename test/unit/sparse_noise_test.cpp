#include "core/noise/sparse_noise.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <gmpxx.h>
#include <gtest/gtest.h>

#include "core/count/shown_groups.hpp"
#include "unit/mpfr_oracle.hpp"
#include "unit/support.hpp"

namespace dp_counter {
namespace {

constexpr unsigned kBits = 1900;

SparseLaw law(double epsilon, std::int64_t sensitivity, uint128 cells) {
    return {PrivacyUnit{Epsilon(epsilon), sensitivity}.scale(1), cells};
}

Release release_of(const SparseLaw& of, RandomSource& random) {
    return {PrivacyUnit{of.noise.epsilon, static_cast<std::int64_t>(of.noise.sensitivity)}, random};
}

/// P(Z >= t) * 2^1900, from 2000 bits of its numerator and denominator.
mpz_class reach(const SparseLaw& of, std::int64_t t) {
    const mpq_class rate = test::rate(of.noise);
    const mpz_class power =
        test::Real::exp_of_minus(rate * mpq_class(mpz_class(static_cast<long>(t)))).scaled(kBits);
    const mpz_class q = test::Real::exp_of_minus(rate).scaled(kBits);
    return (power << kBits) / ((mpz_class(1) << kBits) + q);
}

/// P(N <= k) * 2^1900, k = 0 .. 5 and below the number of cells.
std::vector<mpz_class> at_most(const SparseLaw& of) {
    const mpz_class one = mpz_class(1) << kBits;
    const mpz_class p = reach(of, of.threshold());
    const mpz_class rest = one - p;
    mpz_class mass = one;
    const mpz_class cells = test::to_mpz(of.cells);
    for (std::size_t bit = mpz_sizeinbase(cells.get_mpz_t(), 2); bit-- > 0;) {
        mass = mass * mass >> kBits;
        if (mpz_tstbit(cells.get_mpz_t(), bit) != 0)
            mass = mass * rest >> kBits;
    }
    std::vector<mpz_class> sums;
    mpz_class sum = 0;
    for (unsigned k = 0; k < 6 && cells > k; ++k) {
        sum += mass;
        sums.push_back(sum);
        mass = mass * p / rest * (cells - k) / (k + 1);
    }
    return sums;
}

const std::vector<SparseLaw>& laws() {
    static const std::vector<SparseLaw> all{
        law(1, 1, 1),
        law(1, 1, 2),
        law(0.1, 1, 3),
        law(1, kUnitWeight, 100000),
        law(0.2, kUnitWeight, 1000000),
        law(1e-9, kUnitWeight, 1000),
        law(2, kUnitWeight, uint128{1} << 32),
        law(0.5, kUnitWeight, uint128{1} << 64),
    };
    return all;
}

TEST(SparseNoise, ThresholdIsTheLeastThatKeepsFalseGroupsRare) {
    const mpz_class one = mpz_class(1) << kBits;
    for (const SparseLaw& of : laws()) {
        const std::int64_t t = of.threshold();
        EXPECT_LT(test::to_mpz(of.cells) * 20 * (reach(of, t) + 1), one);
        EXPECT_TRUE(t == 1 || test::to_mpz(of.cells) * 20 * reach(of, t - 1) > one) << t;
    }
    EXPECT_EQ(law(1e9, kUnitWeight, 1000).threshold(), 1);
    // in units, times epsilon, as docs/sources.md says
    const auto units = [](uint128 cells) {
        return static_cast<double>(law(1, kUnitWeight, cells).threshold()) / kUnitWeight;
    };
    EXPECT_NEAR(units(1000), 9.2, 0.05);
    EXPECT_NEAR(units(100000), 13.8, 0.05);
    EXPECT_NEAR(units(1000000), 16.1, 0.05);
    EXPECT_NEAR(units(uint128{1} << 32), 24.5, 0.05);
    EXPECT_NEAR(units(uint128{1} << 64), 46.7, 0.05);
}

TEST(SparseNoise, NumberThatReachesFollowsTheExactThresholds) {
    // Uniform numbers next to P(N <= k): their first 512 bits, and what comes then, decide.
    int decided = 0;
    for (const SparseLaw& of : laws()) {
        const SparseNoise sampler(of);
        const std::vector<mpz_class> sums = at_most(of);
        for (std::size_t k = 0; k < sums.size(); ++k)
            for (const unsigned bits : {512U, 1024U})
                for (const int offset : {-1, 0, 1}) {
                    const mpz_class uniform = (sums[k] >> (kBits - bits)) + offset;
                    if (uniform >> bits != 0)
                        continue;
                    std::vector<std::uint32_t> words; // zeros follow
                    for (unsigned read = 32; read <= bits; read += 32)
                        words.push_back(static_cast<std::uint32_t>(
                            mpz_class((uniform >> (bits - read)) & 0xffffffffUL).get_ui()));
                    const mpz_class number = uniform << (kBits - bits);
                    std::uint64_t expected = 0;
                    while (expected < sums.size() && number >= sums[expected])
                        ++expected;
                    test::Script script(words);
                    ASSERT_EQ(release_of(of, script).draw_reaching(sampler), expected)
                        << "threshold " << k << " bits " << bits << " offset " << offset;
                    ++decided;
                }
    }
    EXPECT_GT(decided, 200);
}

TEST(SparseNoise, ShownNoiseIsTheThresholdAndAGeometricVariable) {
    const SparseNoise sampler(law(0.7, 1, 100));
    constexpr int kRuns = 200000;
    test::Seeded random(1);
    std::vector<int> excess(3);
    for (int i = 0; i < kRuns; ++i) {
        const std::int64_t more =
            release_of(sampler.law(), random).draw_shown(sampler) - sampler.threshold();
        ASSERT_GE(more, 0);
        if (more < 3)
            ++excess[static_cast<std::size_t>(more)];
    }
    const double q = std::exp(-0.7);
    for (std::size_t g = 0; g < 3; ++g) {
        const double p = (1 - q) * std::pow(q, g);
        EXPECT_NEAR(excess[g], kRuns * p, 5 * std::sqrt(kRuns * p * (1 - p))) << g;
    }
}

TEST(SparseNoise, UniformNumbersAreDrawnAgainUntilTheyAreInRange) {
    const SparseLaw of = law(1, 1, 1);
    test::Script script({0, 0, 0, 3, 7, 7, 7, 7, 0, 0, 0, 0xfffffff2U});
    const Release release = release_of(of, script);
    EXPECT_EQ(release.draw_below(3), 2U); // 3, 3, and then 2
    EXPECT_EQ(release.draw_below(1), 0U);
    test::Script high({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU, 0xbfffffffU, 0xffffffffU,
                       0xffffffffU, 0xfffffffeU});
    const uint128 end = (uint128{1} << 126) - 1;
    EXPECT_EQ(release_of(of, high).draw_below(end) + 1, end); // after one that is the end
    test::Seeded random(2);
    std::vector<int> seen(5);
    for (int i = 0; i < 50000; ++i)
        ++seen[static_cast<std::size_t>(release_of(of, random).draw_below(5))];
    for (const int times : seen)
        EXPECT_NEAR(times, 10000, 450); // five standard deviations
}

TEST(SparseNoise, IsDrawnAtItsOwnPriceAlone) {
    test::Seeded random(3);
    const SparseNoise sampler(law(1, 5, 10));
    EXPECT_THROW((void)Release(PrivacyUnit{Epsilon(1), 6}, random).draw_reaching(sampler),
                 std::logic_error);
    EXPECT_THROW((void)Release(PrivacyUnit{Epsilon(2), 5}, random).draw_shown(sampler),
                 std::logic_error);
}

} // namespace
} // namespace dp_counter
