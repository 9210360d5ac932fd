// The errors of a histogram whose bins are the steps of a running total.
#pragma once

#include <cstdint>

#include "core/accuracy/noise_sum.hpp"
#include "core/accuracy/stream_error.hpp"
#include "core/count/bins_law.hpp"

namespace dp_counter {

/// What SQL calls this noise; its k is the number of bins.
inline constexpr const char* kBinsName = "bins";

/// One of the bins 1 .. law.bins; 0: the one whose error is widest.
struct AskedBin {
    BinsLaw law;
    std::int32_t bin = 0;
};

/// The sum of the releases of a bin after the step `since` up to t has the noise of t - since
/// independent differences of two totals, each of which is rounded. As StreamError it throws Error
/// (parameter) for other steps; the last one is kMaxHorizon.
class BinsError {
public:
    /// `totals` has the errors of asked.law.totals(), and must live as long.
    BinsError(const AskedBin& asked, StreamError& totals);

    [[nodiscard]] double variance_at(std::int64_t t, std::int64_t since = 0) const;
    [[nodiscard]] NoiseSum noise_at(std::int64_t t, std::int64_t since = 0) const;
    [[nodiscard]] NoiseClass noise_class(std::int64_t t, std::int64_t since = 0) const;

private:
    AskedBin asked_;
    std::int64_t bin_; ///< which it is
    StreamError& totals_;
};

/// Whether this noise places a median better than noise for each bin by itself: by a quarter of its
/// stddev in events, on average over the bins. Takes up to some milliseconds.
[[nodiscard]] bool is_better_in_totals(const PrivacyUnit& unit, std::int32_t bins);

} // namespace dp_counter
