#include "core/noise/box_law.hpp"

#include <cmath>

#include "core/base/error.hpp"

namespace dp_counter {

BoxLaw::BoxLaw(const PrivacyUnit& unit, std::int32_t size) : unit(unit), size(size) {
    require_range("k", size, 1, kMostSize, "It is the number of periods of a block of box noise.");
}

double BoxLaw::variance() const {
    const double rate = 1 / scale().value();
    const double q = std::exp(-rate);
    const double p = -std::expm1(-rate);
    double weight = 1; // q^j
    double sum = 0;
    double first = 0;
    double second = 0;
    double j = 0;
    for (const double number : eulerian_numbers<double>(size)) {
        const double share = number * weight;
        sum += share;
        first += share * j;
        second += share * j * j;
        weight *= q;
        ++j;
    }
    const double geometrics = size + 1;
    const double mean_of_j = first / sum;
    const double mean = geometrics * q / p + mean_of_j;
    const double variance = geometrics * q / (p * p) + second / sum - mean_of_j * mean_of_j;
    return (variance + mean * mean + mean) / 3;
}

BoxLaw choose_box(const Epsilon& epsilon, std::span<const std::int64_t> blocks) {
    BoxLaw best({epsilon, blocks[0]}, 1);
    std::int32_t size = 1;
    for (const std::int64_t number : blocks.subspan(1)) {
        const BoxLaw law({epsilon, number}, ++size);
        if (law.variance() < best.variance())
            best = law;
    }
    return best;
}

} // namespace dp_counter
