#include "core/noise/discrete_laplace.hpp"

#include <cmath>
#include <vector>

#include "core/noise/certified_exp.hpp"

namespace dp_counter {

namespace {

constexpr int kBase = 16;
constexpr unsigned kTableBits = 96;

/// ratio^1 .. ratio^16
std::vector<Enclosure> powers(const Enclosure& ratio, unsigned bits) {
    std::vector<Enclosure> power{ratio};
    power.reserve(kBase);
    while (power.size() < kBase)
        power.push_back(multiply(power.back(), ratio, bits));
    return power;
}

/// Encloses the probabilities that a digit is at least 1 .. 15, from the powers of its ratio.
std::vector<Enclosure> at_least(const std::vector<Enclosure>& power, bool open, unsigned bits) {
    std::vector<Enclosure> shares(power.begin(), power.end() - 1);
    if (open)
        return shares;
    const BigInt one = BigInt(1) << bits;
    const Enclosure& all = power.back();
    Enclosure inverse; // of 1 - all; member by member, as in certified_exp.cpp
    inverse.low = BigInt(one << bits) / BigInt(one - all.low);
    inverse.high = ceil_div(one << bits, one - all.high);
    for (Enclosure& share : shares) {
        share.low = share.low > all.high ? BigInt(share.low - all.high) : BigInt(0);
        share.high -= all.low;
        share = multiply(share, inverse, bits);
    }
    return shares;
}

/// Encloses the probability of minus, ratio / (1 + ratio), which grows with the ratio.
Enclosure minus(const Enclosure& ratio, unsigned bits) {
    const BigInt one = BigInt(1) << bits;
    Enclosure share;
    share.low = BigInt(ratio.low << bits) / BigInt(one + ratio.low);
    share.high = ceil_div(ratio.high << bits, one + ratio.high);
    return share;
}

/// Takes the first 96 bits of a threshold. False if the enclosure leaves them open.
bool certify(const Enclosure& p, unsigned bits, std::int32_t& word, std::uint64_t& tail) {
    const BigInt low = p.low >> (bits - kTableBits);
    word = static_cast<std::int32_t>(static_cast<std::uint32_t>(low >> 64) ^ 0x80000000U);
    tail = static_cast<std::uint64_t>(low & BigInt(~std::uint64_t{0}));
    return low == p.high >> (bits - kTableBits);
}

/// Precision that leaves 128 bits or more certified, so that hardly any threshold needs another
/// round: the closed digits divide by 1 - q^16, which loses log2(scale) bits, and each further
/// digit multiplies the width by 16. At most scales three words of a machine.
unsigned first_precision(const LaplaceScale& scale, int digits) {
    const double loss = std::log2(std::max(1.0, scale.value()));
    return 160 + static_cast<unsigned>(std::ceil(loss)) + 4U * static_cast<unsigned>(digits);
}

int digits_needed(double scale) {
    constexpr double kReach = 48 * 0.6931471805599453 / (kBase - 1); // q_top^15 below 2^-48
    int digits = 1;
    double top_rate = 1 / scale; // q_top = exp(-top_rate)
    while (top_rate < kReach) {
        top_rate *= kBase;
        ++digits;
    }
    return digits;
}

} // namespace

DiscreteLaplace::DiscreteLaplace(const LaplaceScale& scale) : scale_(scale) {
    static_assert(kBase == dp_counter::kBase);
    if (scale.sensitivity == 0 || scale.divisor == 0 || scale.value() > max_scale())
        throw Error(Fault::parameter, "epsilon is too small for this horizon",
                    "Choose a larger epsilon or a smaller horizon.");
    digit_count_ = digits_needed(scale.value());

    unsigned bits = first_precision(scale, digit_count_);
    for (bool certified = false; !certified; bits *= 2) {
        Enclosure ratio = ratio_of(scale, bits);
        certified = certify(minus(ratio, bits), bits, sign_.word[0], sign_.tail[0]);
        for (int i = 0; i < digit_count_ && certified; ++i) {
            const std::vector<Enclosure> power = powers(ratio, bits);
            const std::vector<Enclosure> shares = at_least(power, i == digit_count_ - 1, bits);
            Digit& digit = digits_[i];
            for (std::size_t j = 0; j < shares.size() && certified; ++j)
                certified = certify(shares[j], bits, digit.word[j], digit.tail[j]);
            digit.word[kBase - 1] = INT32_MIN; // no word lies below it
            ratio = power[kBase - 1];
        }
    }
}

int DiscreteLaplace::draw_digit(int index, RandomSource& random) const {
    const auto word = static_cast<std::int32_t>(random.next32());
    const int reached = count_above(word, digits_[index].word);
    return is_tie(digits_[index], word, reached) ? settle_tie(index, word, random) : reached;
}

std::uint64_t DiscreteLaplace::draw_digits(std::uint64_t known, int index,
                                           RandomSource& random) const {
    std::uint64_t magnitude = known;
    for (int i = index; i >= 0; --i) {
        auto digit = static_cast<std::uint64_t>(draw_digit(i, random));
        if (i == digit_count_ - 1 && digit == kBase - 1)
            digit = extend_top_digit(digit, random);
        magnitude = magnitude * kBase + digit;
    }
    return magnitude;
}

std::uint64_t DiscreteLaplace::extend_top_digit(std::uint64_t top, RandomSource& random) const {
    // Room for the lower digits and for the sign must remain.
    const std::uint64_t limit = (~std::uint64_t{0} >> 2) >> (4 * (digit_count_ - 1));
    for (;;) {
        const int more = draw_digit(digit_count_ - 1, random);
        top += static_cast<std::uint64_t>(more);
        if (top > limit) [[unlikely]]
            throw_overflow();
        if (more < kBase - 1)
            return top;
    }
}

int DiscreteLaplace::settle_tie(int index, std::int32_t word, RandomSource& random) const {
    const bool is_sign = index == kSign;
    const std::int32_t* words = is_sign ? sign_.word : digits_[index].word;
    const std::uint64_t* tails = is_sign ? sign_.tail : digits_[index].tail;
    const std::uint64_t tail = random.next64();
    int above = 0;
    for (int j = 0; j < (is_sign ? 1 : kBase - 1); ++j) {
        if (word == words[j] && tail == tails[j]) {
            const auto high = static_cast<std::uint32_t>(word) ^ 0x80000000U;
            return settle_exactly(index, static_cast<uint128>(high) << 64 | tail, random);
        }
        if (word < words[j] || (word == words[j] && tail < tails[j]))
            ++above;
    }
    return above;
}

int DiscreteLaplace::settle_exactly(int index, uint128 first_96_bits, RandomSource& random) const {
    BigInt uniform(first_96_bits); // the number lies in [uniform, uniform + 1] / 2^drawn
    unsigned drawn = kTableBits;
    for (unsigned bits = first_precision(scale_, digit_count_);; bits *= 2) {
        while (drawn + 128 <= bits) {
            uniform = BigInt(uniform << 32) | BigInt(random.next32());
            drawn += 32;
        }
        Enclosure ratio = ratio_of(scale_, bits);
        std::vector<Enclosure> thresholds;
        if (index == kSign) {
            thresholds.push_back(minus(ratio, bits));
        } else {
            for (int i = 0; i < index; ++i)
                ratio = powers(ratio, bits)[kBase - 1];
            thresholds = at_least(powers(ratio, bits), index == digit_count_ - 1, bits);
        }
        const BigInt low = uniform << (bits - drawn);
        const BigInt high = BigInt(uniform + 1) << (bits - drawn);
        int above = 0;
        bool decided = true;
        for (const Enclosure& p : thresholds) {
            decided = decided && (high <= p.low || low >= p.high);
            above += high <= p.low ? 1 : 0;
        }
        if (decided)
            return above;
    }
}

} // namespace dp_counter
