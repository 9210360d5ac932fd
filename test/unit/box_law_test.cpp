#include "core/noise/box_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmpxx.h>
#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace dp_counter {
namespace {

mpz_class binomial(unsigned n, unsigned k) {
    mpz_class result;
    mpz_bin_uiui(result.get_mpz_t(), n, k);
    return result;
}

/// By their definition: the descents of all signed permutations of 1..n, after a 0.
std::vector<long> descents_of_signed_permutations(int n) {
    std::vector<long> count(static_cast<std::size_t>(n) + 1);
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 1);
    do {
        for (unsigned signs = 0; signs < 1U << n; ++signs) {
            int last = 0;
            std::size_t descents = 0;
            for (int i = 0; i < n; ++i) {
                const int next = (signs >> i & 1 ? -1 : 1) * order[static_cast<std::size_t>(i)];
                descents += last > next ? 1 : 0;
                last = next;
            }
            ++count[descents];
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return count;
}

BoxLaw law(double epsilon, std::int64_t blocks, std::int32_t size) {
    return {{Epsilon(epsilon), blocks}, size};
}

TEST(BoxLaw, EulerianNumbersAreThoseOfTypeB) {
    EXPECT_EQ(eulerian_numbers<long>(0), (std::vector<long>{1}));
    EXPECT_EQ(eulerian_numbers<long>(3), (std::vector<long>{1, 23, 23, 1}));
    EXPECT_EQ(eulerian_numbers<long>(4), (std::vector<long>{1, 76, 230, 76, 1}));
    for (int n = 1; n <= 6; ++n)
        EXPECT_EQ(eulerian_numbers<long>(n), descents_of_signed_permutations(n)) << n;
}

TEST(BoxLaw, RadiusIsTheSumThatTheSamplerDraws) {
    // The law of G_0 + ... + G_B + J has the terms b(B, j) C(r - j + B, B) at q^r, without a
    // common factor; that of R has (2r + 1)^B. In integers, for every size.
    for (std::int32_t size = 1; size <= BoxLaw::kMostSize; ++size) {
        const auto numbers = eulerian_numbers<mpz_class>(size);
        for (unsigned r = 0; r < 80; ++r) {
            mpz_class sum = 0;
            for (unsigned j = 0; j <= std::min(r, static_cast<unsigned>(size)); ++j)
                sum += numbers[j] *
                       binomial(r - j + static_cast<unsigned>(size), static_cast<unsigned>(size));
            mpz_class expected;
            mpz_ui_pow_ui(expected.get_mpz_t(), 2 * r + 1, static_cast<unsigned>(size));
            ASSERT_EQ(sum, expected) << "size " << size << " radius " << r;
        }
    }
    // B = 2 and q = 2/3: the constant is (1 + 6 q + q^2) / (1 - q)^3.
    const auto two = eulerian_numbers<mpq_class>(2);
    const mpq_class q(2, 3);
    const mpq_class rest = (1 - q) * (1 - q) * (1 - q);
    EXPECT_EQ((two[0] + two[1] * q + two[2] * q * q) / rest, 147);
}

TEST(BoxLaw, VarianceIsExact) {
    EXPECT_NEAR(law(1, 4, 4).variance(), 159.916673, 1e-6);
    EXPECT_NEAR(law(0.5, 4, 4).variance(), 639.916667, 1e-6);
    EXPECT_NEAR(law(1, 5, 13).variance(), 1749.916667, 1e-6);
    EXPECT_NEAR(law(1, 4, 9).variance(), 586.583333, 1e-6);
    for (const std::int32_t size : {1, 2, 3, 5, 17, 64})
        for (const double epsilon : {0.03, 0.7, 3.0, 20.0, 100.0}) {
            // E R (R + 1) / 3 term by term
            long double mass = 0;
            long double square = 0;
            const long double rate = static_cast<long double>(epsilon) / 3;
            const long double shift = size * std::log(1 + 2 * size / rate) - size;
            for (long double r = 0; r < (size + 60 + 14 * std::sqrt(size)) / rate + 2; ++r) {
                const long double p = std::exp(size * std::log(2 * r + 1) - rate * r - shift);
                mass += p;
                square += p * r * (r + 1) / 3;
            }
            const auto expected = static_cast<double>(square / mass);
            EXPECT_NEAR(law(epsilon, 3, size).variance(), expected, 1e-11 * expected)
                << size << " " << epsilon;
        }
    // Wide noise: K^2 (B + 1) (B + 2) / (3 epsilon^2), less 1/12 for the lattice.
    for (const std::int32_t size : {1, 13, 64}) {
        const double wide = law(1e-9, 7, size).variance();
        EXPECT_NEAR(wide, 49e18 * (size + 1) * (size + 2) / 3, 1e-9 * wide);
    }
    EXPECT_EQ(law(1e9, 1, 64).variance(), 0);
    // Blocks of one step have discrete Laplace noise.
    EXPECT_NEAR(law(0.3, 5, 1).variance(), LaplaceScale({Epsilon(0.3), 5}).variance(), 1e-9);
}

TEST(BoxLaw, RefusesSizes) {
    for (const std::int32_t size : {-1, 0, 65})
        EXPECT_THROW((void)law(1, 1, size), Error) << size;
}

using Blocks = std::vector<std::int64_t>;

/// The most blocks of 1, 2, ... times `every` days that days which begin at a midnight can touch.
Blocks touched(std::int64_t days, std::int64_t every) {
    Blocks blocks;
    for (std::int64_t size = 1; size <= BoxLaw::kMostSize; ++size)
        blocks.push_back((days - 2 + size * every) / (size * every) + 1);
    return blocks;
}

TEST(BoxLaw, ChoosesTheLeastVariance) {
    const Epsilon one(1);
    EXPECT_EQ(choose_box(one, touched(365, 7)), law(1, 5, 13));
    EXPECT_EQ(choose_box(one, touched(28, 1)), law(1, 4, 9));
    EXPECT_EQ(choose_box(one, touched(7, 1)), law(1, 3, 3));
    EXPECT_EQ(choose_box(one, touched(365, 1)), law(1, 15, 26));
    EXPECT_EQ(choose_box(one, touched(365, 365)), law(1, 2, 1));
    const auto life = [](std::int64_t horizon) {
        Blocks blocks;
        for (std::int64_t size = 1; size <= BoxLaw::kMostSize; ++size)
            blocks.push_back((horizon + size - 1) / size);
        return blocks;
    };
    EXPECT_EQ(choose_box(one, life(1)), law(1, 1, 1));
    EXPECT_EQ(choose_box(one, life(24)), law(1, 1, 24));
    EXPECT_EQ(choose_box(one, life(104)), law(1, 2, 52));
    // By trying all.
    for (const double epsilon : {1e-9, 1e-4, 0.1, 1.0, 20.0, 1e9})
        for (const std::int64_t days : {1, 7, 28, 30, 365, 3650})
            for (const std::int64_t every : {1, 7, 90}) {
                const auto blocks = touched(days, every);
                BoxLaw best = law(epsilon, blocks[0], 1);
                for (std::int32_t size = 2; size <= BoxLaw::kMostSize; ++size)
                    if (law(epsilon, blocks[size - 1], size).variance() < best.variance())
                        best = law(epsilon, blocks[size - 1], size);
                EXPECT_EQ(choose_box(Epsilon(epsilon), blocks), best)
                    << epsilon << " " << days << " " << every;
                // Longer blocks than the first that meets the fewest never have less.
                const auto first = std::find(blocks.begin(), blocks.end(), 2);
                const Blocks shorter(blocks.begin(), first == blocks.end() ? first : first + 1);
                EXPECT_EQ(choose_box(Epsilon(epsilon), shorter), best)
                    << epsilon << " " << days << " " << every;
            }
}

} // namespace
} // namespace dp_counter
