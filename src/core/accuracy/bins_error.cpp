#include "core/accuracy/bins_error.hpp"

#include "core/accuracy/characteristic_function.hpp"
#include "core/base/limits.hpp"

namespace dp_counter {

namespace {

std::int64_t widest_bin(StreamError& totals, std::int64_t bins) {
    std::int64_t widest = 1;
    double most = 0;
    for (std::int64_t bin = 1; bin <= bins; ++bin)
        if (const double variance = totals.variance_at(bin, bin - 1); variance > most) {
            most = variance;
            widest = bin;
        }
    return widest;
}

} // namespace

BinsError::BinsError(const AskedBin& asked, StreamError& totals)
    : asked_(asked), bin_(asked.bin != 0 ? asked.bin : widest_bin(totals, asked.law.bins)),
      totals_(totals) {}

double BinsError::variance_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    return totals_.variance_at(bin_, bin_ - 1) * static_cast<double>(t - since);
}

NoiseSum BinsError::noise_at(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    NoiseSum noise = times(totals_.noise_at(bin_, bin_ - 1), t - since);
    noise.roundings = int128{2} * (t - since); // of the first bin fewer
    return noise;
}

NoiseClass BinsError::noise_class(std::int64_t t, std::int64_t since) const {
    check_steps(t, since, kMaxHorizon);
    // No stream is as high, nor the noise in blocks.
    const PrivacyUnit& unit = asked_.law.unit;
    return {unit.epsilon.value(), unit.sensitivity, asked_.law.bins,
            kMaxHeight + 4,       t - since,        asked_.bin};
}

bool is_better_in_totals(const PrivacyUnit& unit, std::int32_t bins) {
    constexpr std::int32_t kPlaces = 256; // at most about so many are looked at
    constexpr double kGain = 0.75;
    try {
        const ReleaseError totals(make_mechanism(BinsLaw(unit, bins).totals()));
        const std::int32_t apart = (bins + kPlaces - 1) / kPlaces;
        double variance = 0; // of 2 N_j - N_B
        std::int32_t places = 0;
        for (std::int32_t j = 1; j < bins; j += apart, ++places)
            variance += CharacteristicFunction(totals.noise_at(bins, j, 2, 1)).variance();
        return variance / places < kGain * kGain * unit.scale(1).variance() * bins;
    } catch (const Error&) { // no hats: their lattices are too fine for this epsilon, or one level
        return false;
    }
}

} // namespace dp_counter
