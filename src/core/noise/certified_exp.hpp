// exp(-x) of a positive rational, enclosed between two integers: the one transcendental number that
// the sampler needs, with every rounding error included.
#pragma once

#include <cstdint>

#include "core/base/big_integer.hpp"
#include "core/noise/laplace_scale.hpp"

namespace dp_counter {

/// An integer without limit. Up to 640 bits sit inside the object; more go to the heap.
using BigInt = boost::multiprecision::number<
    boost::multiprecision::cpp_int_backend<640, 0, boost::multiprecision::signed_magnitude,
                                           boost::multiprecision::unchecked>,
    boost::multiprecision::et_off>;

/// A real number in [low, high] / 2^bits.
struct Enclosure {
    BigInt low;
    BigInt high;
};

/// Rounded down and up shifts, products and quotients of non-negative fixed-point numbers.
[[nodiscard]] BigInt ceil_shift(BigInt value, unsigned bits);
[[nodiscard]] BigInt ceil_div(const BigInt& numerator, const BigInt& denominator);
[[nodiscard]] Enclosure multiply(const Enclosure& a, const Enclosure& b, unsigned bits);

/// Encloses exp(-numerator / denominator) with `bits` fractional bits, both arguments positive. The
/// width is a few units in the last place. Method: y = x / 2^s below 2^-16, the alternating Taylor
/// series of exp(-y) with every term rounded outwards, then s squarings rounded outwards.
[[nodiscard]] Enclosure exp_of_minus(const BigInt& numerator, const BigInt& denominator,
                                     unsigned bits);

/// Encloses exp(-power / scale), a power of the ratio of discrete Laplace noise, likewise.
[[nodiscard]] Enclosure ratio_of(const LaplaceScale& scale, unsigned bits, std::uint64_t power = 1);

} // namespace dp_counter
