#include "core/noise/box_noise.hpp"

#include "core/noise/certified_exp.hpp"

namespace dp_counter {

namespace {

constexpr unsigned kTableBits = 128;

/// Encloses the probabilities that J is at least 1, ..., B.
std::vector<Enclosure> at_least(const BoxLaw& law, const std::vector<BigInt>& numbers,
                                unsigned bits) {
    const Enclosure ratio = ratio_of(law.scale(), bits);
    const BigInt one = BigInt(1) << bits;
    std::vector<Enclosure> sums; // of b(B, i) q^i over i < j, j = 1..B + 1
    Enclosure power{one, one};
    Enclosure sum{0, 0};
    for (const BigInt& number : numbers) {
        sum.low += number * power.low;
        sum.high += number * power.high;
        sums.push_back(sum);
        power = multiply(power, ratio, bits);
    }
    std::vector<Enclosure> shares;
    for (std::size_t j = 0; j + 1 < sums.size(); ++j) {
        // The upper part over both, at the least and the greatest that each part can be.
        const BigInt low = sums.back().low - sums[j].low;
        const BigInt high = sums.back().high - sums[j].high;
        shares.push_back({BigInt(low << bits) / BigInt(low + sums[j].high),
                          ceil_div(high << bits, BigInt(high + sums[j].low))});
    }
    return shares;
}

/// Leaves 128 bits and more certified: a sum may be off by as many units as the numbers add up to.
unsigned first_precision(const std::vector<BigInt>& numbers) {
    BigInt sum = 0;
    for (const BigInt& number : numbers)
        sum += number;
    return kTableBits + 64 + static_cast<unsigned>(msb(sum));
}

} // namespace

BoxNoise::BoxNoise(const BoxLaw& law) : law_(law), geometric_(law.scale()) {
    law.unit.require_scale(1);
    const auto numbers = eulerian_numbers<BigInt>(law.size);
    bool certified = false;
    for (unsigned bits = first_precision(numbers); !certified; bits *= 2) {
        certified = true;
        at_least_.clear();
        for (const Enclosure& share : at_least(law, numbers, bits)) {
            const BigInt low = share.low >> (bits - kTableBits);
            certified = certified && low == share.high >> (bits - kTableBits);
            at_least_.push_back(static_cast<uint128>(low));
        }
    }
}

std::int64_t BoxNoise::draw_radius(RandomSource& random) const {
    auto radius = static_cast<std::uint64_t>(draw_offset(random));
    bool fits = true;
    for (std::int32_t i = 0; i <= law_.size; ++i) { // each is below 2^62
        radius += geometric_.draw_magnitude(random);
        fits = fits && radius < kRadiusEnd;
    }
    if (!fits) [[unlikely]]
        throw_overflow();
    return static_cast<std::int64_t>(radius);
}

std::int64_t BoxNoise::draw_within(std::int64_t radius, RandomSource& random) {
    const auto count = 2 * static_cast<std::uint64_t>(radius) + 1;
    for (;;) {
        const uint128 lower = static_cast<uint128>(random.next64()) * count;
        const uint128 upper = static_cast<uint128>(random.next64()) * count + (lower >> 64);
        const uint128 low = upper << 64 | static_cast<std::uint64_t>(lower);
        if (low < count) [[unlikely]]
            if (low < (0 - static_cast<uint128>(count)) % count)
                continue;
        return static_cast<std::int64_t>(upper >> 64) - radius;
    }
}

std::int64_t BoxNoise::draw_offset(RandomSource& random) const {
    const uint128 uniform = random.next128();
    std::int64_t reached = 0;
    bool is_tie = false;
    for (const uint128 threshold : at_least_) {
        reached += uniform < threshold ? 1 : 0;
        is_tie |= uniform == threshold;
    }
    return is_tie ? settle_exactly(uniform, random) : reached;
}

std::int64_t BoxNoise::settle_exactly(uint128 first_bits, RandomSource& random) const {
    const auto numbers = eulerian_numbers<BigInt>(law_.size);
    BigInt uniform(first_bits); // the number lies in [uniform, uniform + 1] / 2^drawn
    unsigned drawn = kTableBits;
    for (unsigned bits = first_precision(numbers);; bits *= 2) {
        for (; drawn + 64 <= bits; drawn += 64)
            uniform = BigInt(uniform << 64) | BigInt(random.next64());
        const BigInt low = uniform << (bits - drawn);
        const BigInt high = BigInt(uniform + 1) << (bits - drawn);
        std::int64_t reached = 0;
        bool decided = true;
        for (const Enclosure& share : at_least(law_, numbers, bits)) {
            decided = decided && (high <= share.low || low >= share.high);
            reached += high <= share.low ? 1 : 0;
        }
        if (decided)
            return reached;
    }
}

} // namespace dp_counter
