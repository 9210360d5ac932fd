#include "core/base/decimal.hpp"

#include <cmath>
#include <random>
#include <string>

#include <gmpxx.h>
#include <gtest/gtest.h>

#include "core/base/epsilon.hpp"

namespace dp_counter {
namespace {

/// The decimal exactly, by GMP.
mpq_class rational(const std::string& decimal) {
    const auto point = decimal.find('.');
    if (point == std::string::npos)
        return mpq_class(mpz_class(decimal));
    std::string digits = decimal;
    digits.erase(point, 1);
    mpz_class power;
    mpz_ui_pow_ui(power.get_mpz_t(), 10, digits.size() - point);
    mpq_class result(mpz_class(digits, 10), power);
    result.canonicalize();
    return result;
}

void expect_tight(const std::string& decimal) {
    const double below = largest_double_not_above(decimal);
    EXPECT_LE(mpq_class(below), rational(decimal)) << decimal;
    EXPECT_GT(mpq_class(std::nextafter(below, INFINITY)), rational(decimal)) << decimal;
}

TEST(Decimal, GivesTheLargestDoubleNotAbove) {
    for (const char* decimal : {"1", "0.1", "0.2", "0.3", "0.5", "0.7", "1.1", "3.0", "1000000000",
                                "0.000000001", "0.10000000000000000555", "9007199254740993",
                                "0.1000000000000000055511151231257827021181583404541015625",
                                "0.1000000000000000055511151231257827021181583404541015624"})
        expect_tight(decimal);
    std::mt19937_64 random(14);
    for (int i = 0; i < 100000; ++i) {
        std::string decimal(1 + random() % 20, '0');
        for (char& digit : decimal)
            digit = static_cast<char>('0' + random() % 10);
        decimal.insert(random() % decimal.size(), random() % 4 == 0 ? "0.00000000" : "0");
        if (decimal.find('.') == std::string::npos)
            decimal.insert(1 + random() % decimal.size(), ".");
        if (decimal.back() == '.')
            decimal += '5';
        expect_tight(decimal);
    }
}

TEST(Decimal, KeepsWhatIsADouble) {
    EXPECT_EQ(largest_double_not_above("0"), 0);
    EXPECT_EQ(largest_double_not_above("0.000"), 0);
    EXPECT_EQ(largest_double_not_above("0.5000"), 0.5);
    EXPECT_EQ(largest_double_not_above("1000000000"), 1e9);
    EXPECT_EQ(largest_double_not_above("1" + std::string(400, '0')), INFINITY);
}

// Its neighbor 1e-9 as a double is above 10^-9.
TEST(Decimal, LeastEpsilonIsOne) {
    EXPECT_EQ(largest_double_not_above("0.000000001"), Epsilon::kMin);
}

} // namespace
} // namespace dp_counter
