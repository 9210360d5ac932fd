#include "core/noise/privacy_unit.hpp"

#include <cstdio>
#include <string>

#include "core/base/error.hpp"

namespace dp_counter {

PrivacyUnit::PrivacyUnit(Epsilon epsilon_value, std::int64_t sensitivity_value)
    : epsilon(epsilon_value), sensitivity(sensitivity_value) {
    if (sensitivity < 1)
        throw Error(Fault::parameter,
                    "sensitivity must be at least 1, not " + std::to_string(sensitivity),
                    "It is the most that one protected unit can change, over all rows together.");
}

bool PrivacyUnit::has_scale(int height) const noexcept {
    constexpr int kMostBits = 36; // a sum of 2^25 node noises stays within int64
    const int shift = epsilon.exponent() + kMostBits; // -47 to 13
    const uint128 mantissa = epsilon.mantissa();
    const uint128 most = shift < 0 ? mantissa >> -shift : mantissa << shift;
    return static_cast<uint128>(height) * static_cast<uint128>(sensitivity) <= most;
}

void PrivacyUnit::require_scale(int height) const {
    if (has_scale(height))
        return;
    char message[160];
    (void)std::snprintf(message, sizeof message,
                        "height times sensitivity over epsilon must be at most 2^36, not %d times "
                        "%lld over %g",
                        height, static_cast<long long>(sensitivity), epsilon.value());
    throw Error(Fault::parameter, message,
                "Choose a larger epsilon, a smaller sensitivity or a smaller horizon.");
}

} // namespace dp_counter
