#include "core/noise/certified_exp.hpp"

#include <random>

#include <gtest/gtest.h>

#include "unit/mpfr_oracle.hpp"

namespace dp_counter {
namespace {

mpz_class to_mpz(const BigInt& value) {
    return mpz_class(value.str());
}

TEST(CertifiedExp, EnclosesTheTruthTightly) {
    std::mt19937_64 random(1); // NOLINT: a fixed set of cases
    for (int i = 0; i < 3000; ++i) {
        const std::uint64_t numerator = (random() >> (random() % 63)) | 1;
        const std::uint64_t denominator = (random() >> (random() % 63)) | 1;
        const unsigned bits = 64 + static_cast<unsigned>(random() % 600);
        const Enclosure e = exp_of_minus(numerator, denominator, bits);
        const mpq_class x(mpz_class(static_cast<unsigned long>(numerator)),
                          mpz_class(static_cast<unsigned long>(denominator)));
        const mpz_class truth = test::Real::exp_of_minus(x).scaled(bits);
        ASSERT_LE(to_mpz(e.low), truth) << numerator << "/" << denominator;
        ASSERT_GE(to_mpz(e.high), truth + 1) << numerator << "/" << denominator;
        ASSERT_LE(to_mpz(e.high) - to_mpz(e.low), 4) << numerator << "/" << denominator;
    }
}

TEST(CertifiedExp, ServesTheEndsOfTheRange) {
    const Enclosure tiny = exp_of_minus(1000000000, 1, 256); // exp(-1e9): below 2^-256
    EXPECT_EQ(tiny.low, 0);
    EXPECT_EQ(tiny.high, 1);
    const Enclosure one = exp_of_minus(1, BigInt(1) << 200, 256); // 1 - 2^-200
    EXPECT_LT(one.high, (BigInt(1) << 256));
    EXPECT_GT(one.low, (BigInt(1) << 256) - (BigInt(1) << 57));
}

TEST(CertifiedExp, RoundsOutwards) {
    EXPECT_EQ(ceil_shift(8, 3), 1);
    EXPECT_EQ(ceil_shift(9, 3), 2);
    EXPECT_EQ(ceil_div(9, 3), 3);
    EXPECT_EQ(ceil_div(10, 3), 4);
    const Enclosure product = multiply({3, 3}, {3, 3}, 1); // 3/2 * 3/2 = 9/4: between 4/2 and 5/2
    EXPECT_EQ(product.low, 4);
    EXPECT_EQ(product.high, 5);
}

} // namespace
} // namespace dp_counter
