#include "core/noise/certified_exp.hpp"

namespace dp_counter {

BigInt ceil_shift(BigInt value, unsigned bits) {
    const bool is_exact = value == 0 || lsb(value) >= bits;
    value >>= bits;
    if (!is_exact)
        ++value;
    return value;
}

BigInt ceil_div(const BigInt& numerator, const BigInt& denominator) {
    return (numerator + denominator - 1) / denominator;
}

Enclosure multiply(const Enclosure& a, const Enclosure& b, unsigned bits) {
    return {(a.low * b.low) >> bits, ceil_shift(a.high * b.high, bits)};
}

namespace {

/// exp(-y) for y in [low, high] / 2^bits, y below 1/2.
Enclosure taylor(const Enclosure& y, unsigned bits) {
    const BigInt one = BigInt(1) << bits;
    Enclosure term{one, one};
    Enclosure sum{one, one};
    for (unsigned n = 1; term.high > 1; ++n) {
        term = multiply(term, y, bits);
        term.low /= n;
        term.high = ceil_div(term.high, n);
        if (n % 2 == 1) {
            sum.low -= term.high;
            sum.high -= term.low;
        } else {
            sum.low += term.low;
            sum.high += term.high;
        }
    }
    // The terms alternate and shrink: what is left is at most the last one, one unit.
    sum.low -= 1;
    sum.high += 1;
    return sum;
}

} // namespace

Enclosure exp_of_minus(const BigInt& numerator, const BigInt& denominator, unsigned bits) {
    if (numerator >= denominator * bits) // exp(-bits) < 2^-bits
        return {0, 1};

    constexpr unsigned kSmall = 16; // the series is used below 2^-16
    constexpr unsigned kGuard = 16;
    unsigned halvings = 0;
    while ((numerator << kSmall) >= (denominator << halvings))
        ++halvings;

    const unsigned work = bits + halvings + kGuard; // a squaring at most doubles the width
    const BigInt scaled = numerator << (work - halvings);
    Enclosure result;
    result.low = scaled / denominator;
    result.high = ceil_div(scaled, denominator);
    result = taylor(result, work);
    for (unsigned i = 0; i < halvings; ++i)
        result = multiply(result, result, work);
    result.low >>= work - bits;
    result.high = ceil_shift(result.high, work - bits);
    return result;
}

Enclosure ratio_of(const LaplaceScale& scale, unsigned bits, std::uint64_t power) {
    BigInt numerator = BigInt(scale.epsilon.mantissa()) * BigInt(scale.divisor) * BigInt(power);
    BigInt denominator(scale.sensitivity);
    const int exponent = scale.epsilon.exponent();
    if (exponent < 0)
        denominator <<= static_cast<unsigned>(-exponent);
    else
        numerator <<= static_cast<unsigned>(exponent);
    return exp_of_minus(numerator, denominator, bits);
}

} // namespace dp_counter
