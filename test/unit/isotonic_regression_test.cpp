#include "core/accuracy/isotonic_regression.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gmpxx.h>
#include <gtest/gtest.h>

namespace dp_counter {
namespace {

std::vector<double> path_of(const std::vector<std::int64_t>& numbers) {
    std::vector<IsotonicBlock> path(numbers.size(), IsotonicBlock::of(0));
    std::size_t blocks = 0;
    for (const std::int64_t number : numbers)
        blocks = extend_isotonic_path(path.data(), blocks, number);
    std::vector<double> result;
    for (std::size_t i = 0; i < blocks; ++i)
        result.insert(result.end(), static_cast<std::size_t>(path[i].count()), path[i].mean());
    return result;
}

/// The min-max formula: at i the greatest over a <= i of the least over b >= i of the mean of
/// numbers a .. b.
double by_formula(const std::vector<std::int64_t>& numbers, std::size_t i) {
    long double greatest = -INFINITY;
    for (std::size_t a = 0; a <= i; ++a) {
        long double least = INFINITY;
        long double sum = 0;
        for (std::size_t b = a; b < numbers.size(); ++b) {
            sum += static_cast<long double>(numbers[b]);
            if (b >= i)
                least = std::min(least, sum / static_cast<long double>(b - a + 1));
        }
        greatest = std::max(greatest, least);
    }
    return static_cast<double>(greatest);
}

TEST(IsotonicRegression, IsTheMinMaxFormula) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const auto n = static_cast<std::size_t>(random() % 40);
        const std::int64_t spread = round % 3 == 0 ? 3 : round % 3 == 1 ? 1000 : 1'000'000'000'000;
        std::vector<std::int64_t> numbers(n);
        for (std::size_t i = 0; i < n; ++i)
            numbers[i] = static_cast<std::int64_t>(i) * (round % 5) +
                         static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread)) -
                         spread / 2;
        const std::vector<double> path = path_of(numbers);
        ASSERT_EQ(path.size(), n);
        for (std::size_t i = 0; i < n; ++i)
            ASSERT_NEAR(path[i], by_formula(numbers, i), 1e-12 * static_cast<double>(spread));
    }
}

// The conditions of Karush, Kuhn and Tucker, which a quadratic programme has one solution for: the
// path rises, and the sums of what it leaves are never negative, nothing where it rises.
TEST(IsotonicRegression, SolvesTheQuadraticProgramme) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 100; ++round) {
        std::vector<std::int64_t> numbers(2000);
        std::int64_t truth = 0;
        for (std::int64_t& number : numbers)
            number = (truth += random() % 2) + static_cast<std::int64_t>(random() % 41) - 20;
        const std::vector<double> path = path_of(numbers);
        double left = 0;
        for (std::size_t i = 0; i < path.size(); ++i) {
            left += static_cast<double>(numbers[i]) - path[i];
            ASSERT_GT(left, -1e-8);
            if (i + 1 == path.size() || path[i + 1] > path[i]) {
                ASSERT_NEAR(left, 0, 1e-8);
                left = 0;
            } else {
                ASSERT_EQ(path[i + 1], path[i]);
            }
        }
    }
}

TEST(IsotonicRegression, NeverAddsToTheSquaredError) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 100; ++round) {
        double raw = 0;
        double fitted = 0;
        std::vector<std::int64_t> truth(500);
        std::vector<std::int64_t> releases(500);
        std::int64_t count = 0;
        for (std::size_t i = 0; i < truth.size(); ++i) {
            truth[i] = count += static_cast<std::int64_t>(random() % 3 == 0);
            releases[i] = count + static_cast<std::int64_t>(random() % 61) - 30;
        }
        const std::vector<double> path = path_of(releases);
        for (std::size_t i = 0; i < truth.size(); ++i) {
            raw += std::pow(static_cast<double>(releases[i] - truth[i]), 2);
            fitted += std::pow(path[i] - static_cast<double>(truth[i]), 2);
        }
        EXPECT_LT(fitted, raw);
    }
}

// Sums beyond 2^53 are no doubles, but their means can be.
TEST(IsotonicRegression, RoundsMeansToTheNearestDouble) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 1000; ++round) {
        std::vector<std::int64_t> numbers(3 + random() % 6);
        mpq_class sum = 0;
        for (std::int64_t& number : numbers) {
            number = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 52));
            sum += mpq_class(static_cast<long>(number));
        }
        std::sort(numbers.rbegin(), numbers.rend()); // one block
        const double mean = path_of(numbers).front();
        const mpq_class exact = sum / static_cast<long>(numbers.size());
        const auto error = [&](double value) { return mpq_class(abs(exact - mpq_class(value))); };
        ASSERT_LE(error(mean), error(std::nextafter(mean, -INFINITY)));
        ASSERT_LE(error(mean), error(std::nextafter(mean, INFINITY)));
    }
}

TEST(IsotonicRegression, StandsTheEndsOfTheIntegers) {
    EXPECT_TRUE(path_of({}).empty());
    EXPECT_EQ(path_of({INT64_MAX, INT64_MAX}), (std::vector<double>{0x1p63, 0x1p63}));
    EXPECT_EQ(path_of({INT64_MAX, INT64_MIN}), (std::vector<double>{-0.5, -0.5}));
    EXPECT_EQ(path_of({INT64_MIN, INT64_MIN}), (std::vector<double>{-0x1p63, -0x1p63}));
    EXPECT_EQ(path_of({INT64_MIN, INT64_MAX}), (std::vector<double>{-0x1p63, 0x1p63}));
    EXPECT_EQ(path_of({2, 1, 1, 4}), (std::vector<double>{4.0 / 3, 4.0 / 3, 4.0 / 3, 4}));
}

} // namespace
} // namespace dp_counter
