#include "core/count/anchored_law.hpp"

#include <string>

#include "core/base/error.hpp"

namespace dp_counter {

AnchoredLaw::AnchoredLaw(const PrivacyUnit& unit_value, std::int64_t block_value)
    : unit(unit_value), block(block_value) {
    require_range("k", block, 2, kMostSteps,
                  "It is the number of periods of a block of anchored noise.");
    constexpr std::int64_t kMostSensitivity = std::int64_t{1} << 31;
    if (unit.sensitivity > kMostSensitivity)
        throw Error(Fault::parameter,
                    "sensitivity must be at most " + std::to_string(kMostSensitivity) + ", not " +
                        std::to_string(unit.sensitivity),
                    "Choose a smaller sensitivity.");
    unit.require_scale(5);
}

double AnchoredLaw::mse() const {
    const double share = static_cast<double>(block - 1) / static_cast<double>(block);
    return anchor().variance() + share * make_mechanism(increments()).mse();
}

} // namespace dp_counter
