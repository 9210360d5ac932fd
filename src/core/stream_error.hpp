// How wrong the releases of a stream are, with a horizon or without one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/release_error.hpp"

namespace dp_counter {

/// The errors of the releases that a request leads to. With a horizon that is one plan; without one
/// a plan for every epoch (epochs.hpp): a release carries the noise of the closed epochs' totals
/// and that of its own epoch. Plans are made as they are asked for.
class StreamError {
public:
    /// Throws Error (parameter) as make_plan and make_epoch_plan do.
    explicit StreamError(const Request& request);

    /// The errors of one epoch by itself; epoch 0 is all there is of a stream with a horizon.
    [[nodiscard]] const ReleaseError& epoch(int number);

    /// Variance of the release at step t; 0 at t = 0. Throws Error (parameter) for other steps than
    /// 0 .. horizon.
    [[nodiscard]] double variance_at(std::int64_t t);

    /// The variance that the totals of the epochs before this one add to its releases; 0 for epoch
    /// 0.
    [[nodiscard]] double carried_variance(int number);

    /// The least width, good to 1e-6 in probability, with P(abs(noise at t) <= width) >=
    /// confidence. Throws as WeightedLaplace::half_width does.
    [[nodiscard]] std::int64_t half_width(std::int64_t t, double confidence);

    /// Names the distribution of the noise at t.
    [[nodiscard]] NoiseClass noise_class(std::int64_t t);

private:
    /// Where a step lies.
    struct Place {
        int epoch;
        std::int64_t step; ///< in the epoch
    };
    [[nodiscard]] Place place_of(std::int64_t t) const;

    Request request_;
    std::deque<ReleaseError> epochs_; ///< as far as they have been asked for
    std::vector<double> carried_;     ///< carried_variance() of epochs 0, 1, ..., likewise
};

} // namespace dp_counter
