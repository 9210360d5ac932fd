#include "core/count/bins_law.hpp"

#include <string>

#include "core/base/error.hpp"

namespace dp_counter {

BinsLaw::BinsLaw(const PrivacyUnit& unit_value, std::int32_t bins_value)
    : unit(unit_value), bins(bins_value) {
    require_range("k", bins, 2, kMostBins, "It is the number of bins of a histogram.");
    if (!make_mechanism(totals()).is_fractional())
        throw Error(Fault::parameter, "a histogram of " + std::to_string(bins) +
                                          " bins has independent noise at this epsilon");
}

Request BinsLaw::totals() const {
    std::int32_t distance = 2;
    while (distance * distance < 2 * bins)
        ++distance;
    return {bins, unit, distance, Mechanism::hat};
}

} // namespace dp_counter
