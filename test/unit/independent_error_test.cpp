#include "core/accuracy/independent_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/base/error.hpp"
#include "core/base/limits.hpp"

#include "unit/support.hpp"

namespace dp_counter {
namespace {

constexpr double kMargin = 1e-6; ///< what half_width promises

/// P(S = -radius), ..., P(S = radius) of a symmetric sum.
using Masses = std::vector<long double>;

Masses convolve(const Masses& a, const Masses& b, std::int64_t most) {
    const auto radius_a = static_cast<std::int64_t>(a.size()) / 2;
    const auto radius_b = static_cast<std::int64_t>(b.size()) / 2;
    const std::int64_t radius = std::min(most, radius_a + radius_b);
    Masses sum(static_cast<std::size_t>(2 * radius + 1));
    for (std::int64_t s = -radius; s <= 0; ++s) {
        long double mass = 0;
        for (std::int64_t x = std::max(-radius_a, s - radius_b);
             x <= std::min(radius_a, s + radius_b); ++x)
            mass += a[static_cast<std::size_t>(x + radius_a)] *
                    b[static_cast<std::size_t>(s - x + radius_b)];
        sum[static_cast<std::size_t>(radius + s)] = sum[static_cast<std::size_t>(radius - s)] =
            mass;
    }
    return sum;
}

/// The sum of n variables with P(z) proportional to exp(-abs(z) / scale), by squaring.
Masses sum_of(std::int64_t n, long double scale) {
    const long double q = std::exp(-1 / scale);
    const auto radius = static_cast<std::int64_t>(45 * scale) + 1; // beyond: below 1e-19
    Masses one;
    for (std::int64_t z = -radius; z <= radius; ++z)
        one.push_back((1 - q) / (1 + q) * std::pow(q, static_cast<long double>(std::abs(z))));
    // eight standard deviations, and for few variables the exponential tail
    const auto most = static_cast<std::int64_t>(
        8 * std::sqrt(2 * static_cast<long double>(n)) * (scale + 1) + 25 * scale);
    Masses sum{1};
    for (Masses power = one; n > 0; n /= 2) {
        if (n % 2 == 1)
            sum = convolve(sum, power, most);
        if (n > 1)
            power = convolve(power, power, most);
    }
    return sum;
}

TEST(IndependentError, SumsOfPeriodsMatchTheExactConvolution) {
    int compared = 0;
    for (const double epsilon : {20.0, 3.0, 0.7})
        for (const std::int64_t sensitivity : {1, 2})
            for (const std::int64_t n : {1, 2, 4, 7, 30, 52, 365, 1461, 4000}) {
                SCOPED_TRACE(testing::Message() << epsilon << " " << sensitivity << " " << n);
                const Masses masses = sum_of(n, static_cast<long double>(sensitivity) / epsilon);
                const auto radius = static_cast<std::int64_t>(masses.size()) / 2;
                long double variance = 0;
                std::vector<long double> within; // P(abs(S) <= width)
                for (std::int64_t s = 0; s <= radius; ++s) {
                    const long double both =
                        masses[static_cast<std::size_t>(radius + s)] * (s == 0 ? 1 : 2);
                    within.push_back((s == 0 ? 0 : within.back()) + both);
                    variance += both * static_cast<long double>(s * s);
                }
                const IndependentError errors(PrivacyUnit(Epsilon(epsilon), sensitivity));
                const std::int64_t since = 3 * n;
                EXPECT_NEAR(errors.variance_at(n + since, since), static_cast<double>(variance),
                            1e-9 * static_cast<double>(variance));
                for (const double confidence : {0.3, 0.9, 0.95, 0.99, 0.99999}) {
                    const auto width = static_cast<std::size_t>(
                        test::half_width_of(errors, n + since, confidence, since));
                    ASSERT_LT(width, within.size());
                    EXPECT_GE(within[width], confidence - kMargin);
                    if (width > 0) {
                        EXPECT_LT(within[width - 1], confidence + kMargin);
                    }
                    ++compared;
                }
            }
    EXPECT_EQ(compared, 3 * 2 * 9 * 5);
}

TEST(IndependentError, NothingIsCountedBetweenAStepAndItself) {
    const IndependentError errors(PrivacyUnit(Epsilon(0.1)));
    EXPECT_EQ(errors.variance_at(5, 5), 0);
    EXPECT_EQ(test::half_width_of(errors, 5, 0.95, 5), 0);
}

TEST(IndependentError, RefusesWhatIsOutOfRange) {
    const IndependentError errors(PrivacyUnit(Epsilon(1)));
    EXPECT_THROW((void)errors.variance_at(-1), Error);
    EXPECT_THROW((void)errors.variance_at(5, 6), Error);
    EXPECT_THROW((void)errors.variance_at(5, -1), Error);
    EXPECT_THROW((void)test::half_width_of(errors, 5, 0.95, 6), Error);
    EXPECT_THROW((void)test::half_width_of(errors, 5, 1), Error);
    EXPECT_THROW((void)test::half_width_of(errors, kMaxHorizon + 1, 0.95), Error);
    EXPECT_THROW((void)IndependentError(PrivacyUnit(Epsilon(1e-9), std::int64_t{1} << 31)), Error);
}

TEST(IndependentError, TheForecastRemembersWidthsByTheNumberOfPeriods) {
    MechanismCache cache;
    Forecast forecast(cache);
    for (int round = 0; round < 2; ++round)
        for (const double epsilon : {0.5, 1.0})
            for (const std::int64_t sensitivity : {1, 3})
                for (const double confidence : {0.9, 0.95})
                    for (std::int64_t n = 0; n <= 400; n += 7) {
                        const IndependentError errors(PrivacyUnit(Epsilon(epsilon), sensitivity));
                        EXPECT_EQ(forecast.half_width(errors, n + 100, confidence, 100),
                                  test::half_width_of(errors, n, confidence));
                    }
}

TEST(IndependentError, AWidthOfAnyNumberOfPeriodsIsFound) {
    // A normal approximation is good to 1 % from hundreds of periods on; no number is too large.
    const IndependentError errors(PrivacyUnit(Epsilon(0.5), 12));
    for (std::int64_t n = 500; n < 1'000'000'000'000; n *= 10)
        EXPECT_NEAR(static_cast<double>(test::half_width_of(errors, n, 0.95)) /
                        std::sqrt(errors.variance_at(n)),
                    1.96, 0.02)
            << n;
}

} // namespace
} // namespace dp_counter
