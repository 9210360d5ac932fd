#include "core/noise/sparse_noise.hpp"

#include "core/noise/certified_exp.hpp"

namespace dp_counter {

namespace {

/// Of probabilities down to 2^-132, and of products of up to 2^126 of their complements.
constexpr unsigned kFirstBits = 512;

/// Encloses p = q^t / (1 + q).
Enclosure chance_to_reach(const LaplaceScale& scale, std::int64_t threshold, unsigned bits) {
    const BigInt one = BigInt(1) << bits;
    const Enclosure ratio = ratio_of(scale, bits);
    const Enclosure power = ratio_of(scale, bits, static_cast<std::uint64_t>(threshold));
    return {BigInt(power.low << bits) / BigInt(one + ratio.high),
            ceil_div(power.high << bits, BigInt(one + ratio.low))};
}

Enclosure power_of(Enclosure base, uint128 exponent, unsigned bits) {
    const BigInt one = BigInt(1) << bits;
    Enclosure power{one, one};
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0)
            power = multiply(power, base, bits);
        base = multiply(base, base, bits);
    }
    return power;
}

} // namespace

std::int64_t SparseLaw::threshold() const {
    const auto is_rare = [&](std::int64_t t) {
        const Enclosure p = chance_to_reach(noise, t, kFirstBits);
        return BigInt(p.high * 20) * BigInt(cells) <= BigInt(1) << kFirstBits;
    };
    std::int64_t below = 0;
    std::int64_t enough = std::int64_t{1} << 62;
    while (enough - below > 1) {
        const std::int64_t middle = below + (enough - below) / 2;
        (is_rare(middle) ? enough : below) = middle;
    }
    return enough;
}

SparseNoise::SparseNoise(const SparseLaw& law)
    : law_(law), threshold_(law.threshold()), of_cell_(law.noise) {}

std::uint64_t SparseNoise::draw_reaching(RandomSource& random) const {
    BigInt uniform = 0; // the number lies in [uniform, uniform + 1] / 2^drawn
    unsigned drawn = 0;
    for (unsigned bits = kFirstBits;; bits *= 2) {
        for (; drawn < bits; drawn += 64)
            uniform = BigInt(uniform << 64) | BigInt(random.next64());
        const BigInt one = BigInt(1) << bits;
        const Enclosure p = chance_to_reach(law_.noise, threshold_, bits);
        const Enclosure rest{BigInt(one - p.high), BigInt(one - p.low)};
        const Enclosure odds{BigInt(p.low << bits) / rest.high, ceil_div(p.high << bits, rest.low)};
        Enclosure mass = power_of(rest, law_.cells, bits); // of k
        Enclosure sum = mass;                              // up to k
        std::uint64_t k = 0;
        while (k < law_.cells && uniform >= sum.high) {
            const BigInt left(law_.cells - k);
            const BigInt next(++k);
            mass = multiply(mass, odds, bits);
            mass.low = BigInt(mass.low * left) / next;
            mass.high = ceil_div(mass.high * left, next);
            sum.low += mass.low;
            sum.high += mass.high;
        }
        if (k == law_.cells || uniform < sum.low)
            return k;
    }
}

std::int64_t SparseNoise::draw_shown(RandomSource& random) const {
    return threshold_ + static_cast<std::int64_t>(of_cell_.draw_magnitude(random));
}

uint128 SparseNoise::draw_below(uint128 end, RandomSource& random) {
    uint128 mask = end - 1;
    for (unsigned shift = 1; shift < 128; shift *= 2)
        mask |= mask >> shift;
    for (;;) {
        const uint128 drawn = random.next128() & mask;
        if (drawn < end)
            return drawn;
    }
}

} // namespace dp_counter
