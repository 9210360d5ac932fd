#include "core/tree/tree_variance.hpp"

#include <algorithm>
#include <cstdlib>

namespace dp_counter {

LaplaceScale tree_scale(int height, PrivacyUnit unit) noexcept {
    return unit.scale(height);
}

std::int64_t nodes_at(const DigitSystem& system, std::int64_t t) noexcept {
    return nodes_between(system, 0, t);
}

std::int64_t nodes_between(const DigitSystem& system, std::int64_t since, std::int64_t t) noexcept {
    std::int64_t nodes = 0;
    while (t != 0 || since != 0) {
        const std::int64_t before = system.split(since);
        const std::int64_t now = system.split(t);
        // Of one parent: those on one side are shared, those on two are apart.
        nodes += since == t ? std::abs(now - before) : std::abs(now) + std::abs(before);
    }
    return nodes;
}

namespace {

/// 1 + 2 + ... + n
int128 triangle(int128 n) {
    return n * (n + 1) / 2;
}

/// Sum of abs(last digit of u) over u = 0..end-1.
int128 sum_of_last_digits(const DigitSystem& system, int128 end) {
    const int128 positive = system.highest();
    const int128 negative = -system.lowest();
    const int128 rest = end % system.radix(); // u mod k = 0..rest-1, highest first then lowest
    const int128 rising = std::min<int128>(rest, positive + 1);
    int128 sum = (end / system.radix()) * (triangle(positive) + triangle(negative));
    sum += triangle(std::max<int128>(rising - 1, 0));
    if (rest > rising) // the digits -negative, -negative + 1, ...
        sum += triangle(negative) - triangle(negative - (rest - rising));
    return sum;
}

} // namespace

uint128 total_nodes(const DigitSystem& system, std::int64_t horizon) noexcept {
    // Digit l of t is the last digit of u, where u = 0, 1, 2, ... each hold for B = k^l steps; the
    // first one for fewer, since the digits below reach down to -below only. Steps 0..horizon.
    uint128 total = 0;
    int128 block = 1;
    int128 below = 0;
    const int128 last = horizon;
    while (block - below <= last) {
        const int128 full = (last + below) / block;             // u = full holds at the last step
        const int128 partial = last + below - full * block + 1; // for this many steps
        total += static_cast<uint128>(sum_of_last_digits(system, full) * block);
        const int128 at_full =
            sum_of_last_digits(system, full + 1) - sum_of_last_digits(system, full);
        total += static_cast<uint128>(at_full * partial);
        below += -system.lowest() * block;
        block *= system.radix();
    }
    return total;
}

std::int64_t max_nodes(const DigitSystem& system, std::int64_t horizon) noexcept {
    // Among the numbers that share a prefix of digits with the horizon and then have a smaller
    // digit, the digits further down are free; the smaller digit is best at either end of its
    // range.
    std::int32_t digits[kMaxHeight + 1];
    int height = 0;
    for (std::int64_t t = horizon; t != 0; ++height)
        digits[height] = system.split(t);

    const std::int64_t free = std::max(system.highest(), -system.lowest());
    std::int64_t best = nodes_at(system, horizon);
    std::int64_t prefix = 0;
    for (int i = height - 1; i >= 0; --i) {
        const bool leading = i == height - 1; // a number's first digit is positive
        const std::int64_t smaller = digits[i] - 1;
        const std::int64_t least = leading ? 1 : system.lowest();
        if (smaller >= least)
            best = std::max(best, prefix + std::max(std::abs(smaller), std::abs(least)) + i * free);
        prefix += std::abs(digits[i]);
    }
    // A number of fewer digits: its first digit may be the highest one.
    if (height > 1)
        best = std::max(best, system.highest() + (height - 2) * free);
    return best;
}

double tree_mse(const DigitSystem& system, std::int64_t horizon, double node_variance) noexcept {
    const auto nodes = static_cast<double>(total_nodes(system, horizon));
    return node_variance * nodes / static_cast<double>(horizon);
}

} // namespace dp_counter
