// exp(-x) to 2000 bits by MPFR, as an exact integer scaled by a power of two: the independent
// computation that the sampler's certified enclosures are held against.
#pragma once

#include <gmpxx.h>
#include <mpfr.h>

#include "core/noise/laplace_scale.hpp"

namespace dp_counter::test {

inline constexpr mpfr_prec_t kPrecision = 2000;

inline mpz_class to_mpz(uint128 value) {
    mpz_class result = static_cast<unsigned long>(value >> 64);
    return (result << 64) + static_cast<unsigned long>(value);
}

/// epsilon / sensitivity, exactly.
inline mpq_class rate(const LaplaceScale& scale) {
    mpq_class x(mpz_class(static_cast<unsigned long>(scale.epsilon.mantissa())),
                to_mpz(scale.sensitivity));
    const int exponent = scale.epsilon.exponent();
    const mpz_class power = mpz_class(1)
                            << static_cast<unsigned>(exponent < 0 ? -exponent : exponent);
    x *= exponent < 0 ? mpq_class(1, power) : mpq_class(power);
    x.canonicalize();
    return x;
}

/// A 2000-bit floating-point number.
class Real {
public:
    Real() { mpfr_init2(value_, kPrecision); }
    Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
    Real& operator=(const Real& other) {
        mpfr_set(value_, other.value_, MPFR_RNDN);
        return *this;
    }
    ~Real() { mpfr_clear(value_); }

    /// exp(-x)
    static Real exp_of_minus(const mpq_class& x) {
        Real result;
        mpfr_set_q(result.value_, x.get_mpq_t(), MPFR_RNDN);
        mpfr_neg(result.value_, result.value_, MPFR_RNDN);
        mpfr_exp(result.value_, result.value_, MPFR_RNDN);
        return result;
    }

    /// (a - b) / (1 - c)
    static Real ratio(const Real& a, const Real& b, const Real& c) {
        Real top;
        Real bottom;
        mpfr_sub(top.value_, a.value_, b.value_, MPFR_RNDN);
        mpfr_ui_sub(bottom.value_, 1, c.value_, MPFR_RNDN);
        mpfr_div(top.value_, top.value_, bottom.value_, MPFR_RNDN);
        return top;
    }

    /// floor(value * 2^bits)
    [[nodiscard]] mpz_class scaled(unsigned bits) const {
        Real shifted;
        mpfr_mul_2ui(shifted.value_, value_, bits, MPFR_RNDN);
        mpz_class result;
        mpfr_get_z(result.get_mpz_t(), shifted.value_, MPFR_RNDD);
        return result;
    }

private:
    mpfr_t value_;
};

/// P(digit `index` of a geometric variable with ratio exp(-rate) is at least j), in base 16; the
/// open top digit has no upper end.
inline Real digit_at_least(const LaplaceScale& scale, int index, int j, bool open) {
    const mpq_class x =
        rate(scale) * mpq_class(mpz_class(1) << (4U * static_cast<unsigned>(index)));
    const Real reach = Real::exp_of_minus(x * j);
    if (open)
        return reach;
    const Real all = Real::exp_of_minus(x * 16);
    return Real::ratio(reach, all, all);
}

/// q / (1 + q) with q = exp(-rate), written as (q - q^2) / (1 - q^2).
inline Real minus_probability(const LaplaceScale& scale) {
    const Real square = Real::exp_of_minus(rate(scale) * 2);
    return Real::ratio(Real::exp_of_minus(rate(scale)), square, square);
}

} // namespace dp_counter::test
