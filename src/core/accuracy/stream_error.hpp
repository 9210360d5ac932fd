// How wrong the releases of a stream are, with a horizon or without one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/accuracy/noise_sum.hpp"
#include "core/accuracy/release_error.hpp"
#include "core/count/mechanism_cache.hpp"

namespace dp_counter {

/// The errors of the releases that a request leads to, and of their differences, release(t) -
/// release(since). With a horizon that is one mechanism; without one a mechanism for every epoch
/// (epochs.hpp): a release carries the noise of the closed epochs' totals and that of its own
/// epoch. Mechanisms are made as they are asked for.
///
/// Steps are 0 <= since <= t <= horizon; others throw Error (parameter). Release 0 is exact, so the
/// default, since = 0, is about the release at t itself.
class StreamError {
public:
    /// With mechanisms of a cache, which must live as long, or of its own. Throws Error (parameter)
    /// as make_mechanism does.
    explicit StreamError(const Request& request, MechanismCache* plans = nullptr);

    /// The errors of one epoch by itself; epoch 0 is all there is of a stream with a horizon.
    [[nodiscard]] const ReleaseError& epoch(int number);

    /// Variance of the difference; each rounding is counted as kRoundingVariance.
    [[nodiscard]] double variance_at(std::int64_t t, std::int64_t since = 0);

    /// The variance that the totals of the epochs before this one add to its releases; 0 for epoch
    /// 0.
    [[nodiscard]] double carried_variance(int number);

    /// What the noise of the difference consists of: for NoiseDistribution and ShareQuantiles.
    [[nodiscard]] NoiseSum noise_at(std::int64_t t, std::int64_t since = 0);

    /// Names the distribution of the noise of the difference.
    [[nodiscard]] NoiseClass noise_class(std::int64_t t, std::int64_t since = 0);

private:
    void check(std::int64_t t, std::int64_t since) const;
    [[nodiscard]] bool is_rounded(std::int64_t t);

    /// Calls visit(errors, step, step at `since`) for every epoch that adds to the difference.
    template <class Visit>
    void for_each_epoch(std::int64_t t, std::int64_t since, Visit&& visit);

    Request request_;
    MechanismCache* plans_;
    std::deque<ReleaseError> epochs_; ///< as far as they have been asked for
    std::vector<double> carried_;     ///< carried_variance() of epochs 0, 1, ..., likewise
};

} // namespace dp_counter
