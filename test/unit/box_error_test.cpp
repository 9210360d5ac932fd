#include "core/accuracy/box_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/accuracy/forecast.hpp"
#include "core/accuracy/independent_error.hpp"
#include "core/base/error.hpp"
#include "core/base/limits.hpp"

#include "unit/support.hpp"

namespace dp_counter {
namespace {

constexpr double kMargin = 1e-6; ///< what half_width promises

BoxLaw law(double epsilon, std::int64_t blocks, std::int32_t size) {
    return {{Epsilon(epsilon), blocks}, size};
}

/// P(S = -radius), ..., P(S = radius) of a symmetric sum.
using Masses = std::vector<long double>;

Masses convolve(const Masses& a, const Masses& b) {
    Masses sum(a.size() + b.size() - 1);
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < b.size(); ++j)
            sum[i + j] += a[i] * b[j];
    return sum;
}

/// P(R = 0), P(R = 1), ...
Masses radii(const BoxLaw& of) {
    const long double rate = of.unit.density();
    Masses mass;
    long double sum = 0;
    for (long double r = 0; r < (of.size + 45 + 9 * std::sqrt(of.size)) / rate + 1; ++r) {
        mass.push_back(std::pow(2 * r + 1, static_cast<long double>(of.size)) *
                       std::exp(-rate * r));
        sum += mass.back();
    }
    for (long double& m : mass)
        m /= sum;
    return mass;
}

/// The sum of so many steps of one block: given R, of uniform variables.
Masses in_block(const Masses& radius, std::int64_t steps) {
    const std::size_t most = radius.size() - 1;
    Masses sum(2 * most * static_cast<std::size_t>(steps) + 1);
    for (std::size_t r = 0; r <= most; ++r) {
        Masses of{1};
        for (std::int64_t i = 0; i < steps; ++i) { // a moving sum
            Masses next(of.size() + 2 * r);
            long double inside = 0;
            for (std::size_t j = 0; j < next.size(); ++j) {
                inside += j < of.size() ? of[j] : 0;
                inside -= j > 2 * r ? of[j - 2 * r - 1] : 0;
                next[j] = inside / (2 * static_cast<long double>(r) + 1);
            }
            of = std::move(next);
        }
        const std::size_t shift = (sum.size() - of.size()) / 2;
        for (std::size_t j = 0; j < of.size(); ++j)
            sum[shift + j] += radius[r] * of[j];
    }
    return sum;
}

/// P(|S| <= width)
long double within(const Masses& masses, std::int64_t width) {
    const auto middle = std::ssize(masses) / 2;
    long double sum = 0;
    for (std::int64_t s = std::max<std::int64_t>(0, middle - width);
         s <= std::min<std::int64_t>(std::ssize(masses) - 1, middle + width); ++s)
        sum += masses[static_cast<std::size_t>(s)];
    return sum;
}

/// Walks step by step through the blocks.
Masses sum_of(const BoxLaw& of, const Masses& radius, std::int64_t since, std::int64_t t) {
    Masses sum{1};
    std::int64_t steps = 0;
    for (std::int64_t step = since + 1; step <= t; ++step) {
        ++steps;
        if (step % of.size == 0 || step == t) {
            sum = convolve(sum, in_block(radius, steps));
            steps = 0;
        }
    }
    return sum;
}

TEST(BoxError, SumsMatchTheExactConvolutionInEveryPhase) {
    int compared = 0;
    for (const BoxLaw& of :
         {law(20, 4, 4), law(6, 3, 2), law(8, 4, 3), law(12, 4, 5), law(3, 2, 1)}) {
        const Masses radius = radii(of);
        const BoxError errors(of);
        for (std::int64_t since = 0; since < of.size; ++since)
            for (std::int64_t lag = 1; lag <= of.size + 3; ++lag) {
                const Masses exact = sum_of(of, radius, since, since + lag);
                long double square = 0;
                for (std::int64_t s = 0; s < std::ssize(exact); ++s) {
                    const auto distance = static_cast<long double>(s - std::ssize(exact) / 2);
                    square += exact[static_cast<std::size_t>(s)] * distance * distance;
                }
                EXPECT_NEAR(errors.variance_at(since + lag, since), static_cast<double>(square),
                            1e-9 * static_cast<double>(square));
                for (const double confidence : {0.1, 0.5, 0.95, 0.999}) {
                    const std::int64_t width = errors.half_width(since + lag, confidence, since);
                    EXPECT_GE(within(exact, width), confidence - kMargin)
                        << of.size << " " << since << " " << lag;
                    EXPECT_LT(width == 0 ? 0 : within(exact, width - 1), confidence + kMargin)
                        << of.size << " " << since << " " << lag;
                    ++compared;
                }
            }
    }
    EXPECT_GT(compared, 300);
}

TEST(BoxError, HasTheDesignsWidths) {
    const auto width = [](const BoxLaw& of, std::int64_t t, std::int64_t since = 0) {
        return BoxError(of).half_width(t, 0.95, since);
    };
    EXPECT_EQ(width(law(1, 4, 4), 1), 25);
    EXPECT_EQ(width(law(0.5, 4, 4), 1), 50);
    EXPECT_EQ(width(law(1, 5, 13), 1), 76);
    EXPECT_EQ(width(law(1, 4, 9), 1), 45);
    EXPECT_EQ(width(law(1, 4, 4), 4), 52);    // in one block
    EXPECT_EQ(width(law(1, 4, 4), 6, 2), 51); // in two
}

TEST(BoxError, OneStepOfWideNoise) {
    // Given R, P(|z| <= w) is (2 min(w, R) + 1) / (2R + 1): exact also where half_width scales.
    for (const BoxLaw& of :
         {law(0.01, 4, 4), law(0.003, 2, 1), law(0.01, 5, 13), law(0.1, 2, 64)}) {
        const Masses radius = radii(of);
        const auto exact = [&](std::int64_t width) {
            long double sum = 0;
            for (std::int64_t r = 0; r < std::ssize(radius); ++r)
                sum += radius[static_cast<std::size_t>(r)] *
                       (2 * static_cast<long double>(std::min(width, r)) + 1) /
                       (2 * static_cast<long double>(r) + 1);
            return sum;
        };
        for (const double confidence : {0.0011, 0.02, 0.5, 0.95, 0.999}) {
            const std::int64_t width = BoxError(of).half_width(1, confidence);
            EXPECT_GE(exact(width), confidence - kMargin) << of.size;
            EXPECT_LT(exact(width - std::max<std::int64_t>(1, width / 2000)), confidence)
                << of.size;
        }
    }
}

TEST(BoxError, ScalesWithEpsilon) {
    // From one step to many, and to the ends of what epsilon can be.
    for (const BoxLaw& of : {law(0.1, 4, 4), law(0.1, 2, 64)})
        for (const std::int64_t lag : {1, 2, 3, 7, 64, 1000, 1 << 30})
            for (const std::int64_t since : {0, 3}) {
                const auto wide =
                    static_cast<double>(BoxError(of).half_width(since + lag, 0.95, since));
                const auto wider =
                    static_cast<double>(BoxError(law(1e-8, of.unit.sensitivity, of.size))
                                            .half_width(since + lag, 0.95, since));
                EXPECT_NEAR(wider / 1e7, wide, 1 + 1e-3 * wide) << of.size << " " << lag;
            }
    for (const std::int32_t size : {1, 2, 64}) {
        EXPECT_EQ(BoxError(law(1e9, 2, size)).half_width(100, 0.95), 0);
        EXPECT_GT(BoxError(law(1e-9, 60, size)).half_width(kMaxHorizon, 0.95),
                  std::int64_t{1} << 60);
    }
}

TEST(BoxError, ManyStepsAreNormal) {
    const BoxError errors(law(1, 4, 4));
    const double stddev = std::sqrt(errors.variance_at(40000));
    EXPECT_NEAR(static_cast<double>(errors.half_width(40000, 0.95)), 1.95996 * stddev,
                0.001 * stddev);
}

TEST(BoxError, BlocksOfOneStepAreIndependent) {
    const PrivacyUnit unit(Epsilon(0.4), 3);
    const IndependentError independent(unit);
    const BoxError errors(BoxLaw(unit, 1));
    for (const std::int64_t lag : {1, 2, 5, 50}) {
        EXPECT_NEAR(errors.variance_at(lag), independent.variance_at(lag), 1e-6);
        EXPECT_EQ(errors.half_width(lag, 0.95), test::half_width_of(independent, lag, 0.95));
    }
}

TEST(BoxError, IsRememberedByThePlaceInABlock) {
    MechanismCache plans;
    Forecast forecast(plans);
    const BoxError errors(law(1, 4, 4));
    const AskedNoise noise(errors);
    for (int round = 0; round < 2; ++round)
        for (std::int64_t since = 0; since < 12; ++since)
            for (const std::int64_t lag : {1, 2, 4, 5})
                EXPECT_EQ(forecast.half_width(noise, since + lag, 0.95, since),
                          errors.half_width(since + lag, 0.95, since));
    EXPECT_EQ(errors.noise_class(7, 3), errors.noise_class(11, 7));
    EXPECT_FALSE(errors.noise_class(7, 3) == errors.noise_class(8, 4));
    EXPECT_FALSE(errors.noise_class(7, 3) ==
                 IndependentError(PrivacyUnit(Epsilon(1), 4)).noise_class(7, 3));
    EXPECT_THROW((void)forecast.share_interval(noise, 5, 5, 1, 0.95), Error);
}

TEST(BoxError, RefusesStepsAndConfidences) {
    const BoxError errors(law(1, 4, 4));
    EXPECT_THROW((void)errors.half_width(3, 0.95, 4), Error);
    EXPECT_THROW((void)errors.variance_at(3, -1), Error);
    EXPECT_THROW((void)errors.variance_at(kMaxHorizon + 1), Error);
    EXPECT_THROW((void)errors.half_width(3, 1), Error);
    EXPECT_EQ(errors.half_width(3, 0.95, 3), 0);
    EXPECT_THROW(BoxError(law(1e-9, 100, 4)), Error);
}

} // namespace
} // namespace dp_counter
