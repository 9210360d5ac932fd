#include "core/base/epsilon.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace dp_counter {
namespace {

TEST(Epsilon, IsTheDyadicRationalOfItsDouble) {
    for (const double value : {1e-9, 0.1, 1.0, 3.0, std::nextafter(1.0, 2.0), 1e9}) {
        const Epsilon epsilon(value);
        EXPECT_EQ(std::ldexp(static_cast<double>(epsilon.mantissa()), epsilon.exponent()), value);
        EXPECT_LT(epsilon.mantissa(), std::uint64_t{1} << 53);
    }
}

TEST(Epsilon, RefusesWhatIsOutOfRange) {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double value : {0.0, -1.0, std::nextafter(Epsilon::kMin, 0.0),
                               std::nextafter(1e9, infinity), infinity, -infinity, std::nan("")}) {
        try {
            const Epsilon epsilon(value);
            FAIL() << value;
        } catch (const Error& error) {
            EXPECT_EQ(error.fault(), Fault::parameter);
            EXPECT_FALSE(error.hint().empty());
        }
    }
}

} // namespace
} // namespace dp_counter
