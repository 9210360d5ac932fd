#include "core/base/decimal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/big_integer.hpp"

namespace dp_counter {

double largest_double_not_above(std::string_view decimal) {
    using boost::multiprecision::cpp_int;
    cpp_int digits = 0;
    cpp_int one = 1; // as digits has it: 10 to the number of digits after the point
    bool is_fraction = false;
    for (const char character : decimal) {
        if (character == '.') {
            is_fraction = true;
            continue;
        }
        digits = digits * 10 + (character - '0');
        if (is_fraction)
            one *= 10;
    }
    if (digits == 0)
        return 0;
    // The quotient gets at least as many bits as a double has, then loses those that are over.
    constexpr int kBits = 53;
    const auto bits = [](const cpp_int& number) { return static_cast<int>(msb(number)) + 1; };
    const int exponent = std::max(0, kBits + bits(one) - bits(digits));
    const cpp_int quotient = (digits << static_cast<unsigned>(exponent)) / one;
    const int over = bits(quotient) - kBits;
    return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(
                          cpp_int(quotient >> static_cast<unsigned>(over)))),
                      over - exponent);
}

} // namespace dp_counter
