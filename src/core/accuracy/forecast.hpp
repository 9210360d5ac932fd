// Answers about mechanisms, remembered: a query asks the same thing once per row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/accuracy/anchored_error.hpp"
#include "core/accuracy/average_interval.hpp"
#include "core/accuracy/bins_error.hpp"
#include "core/accuracy/box_error.hpp"
#include "core/accuracy/independent_error.hpp"
#include "core/accuracy/stream_error.hpp"

namespace dp_counter {

/// What a mechanism promises.
struct ForecastReport {
    std::vector<std::int32_t> radices;
    double scale; ///< of the noise of one node
    double mse;
    double rmse;
    double max_stddev;
    std::size_t state_bytes;
};

/// The report of one epoch of a stream, or of all of a stream with a horizon. mse, rmse and
/// max_stddev hold what is carried over from the epochs before.
[[nodiscard]] ForecastReport report_of(StreamError& errors, int epoch);

/// What an answer is about: releases of a running count, numbers that are each released once,
/// stocks or a bin of a histogram.
using AskedNoise = std::variant<Request, IndependentError, BoxError, AnchoredLaw, AskedBin>;

/// A cache of public values of bounded size, on top of one of mechanisms, which must live as long:
/// up to 64 mechanisms, 131,072 half widths and the quantiles of 16,384 shares (10 MB, as they are
/// asked for). A remembered answer
/// costs 30 to 100 nanoseconds; for a horizon up to 131,072 those of all steps are. References are
/// good until a call with another request.
class Forecast {
public:
    constexpr explicit Forecast(MechanismCache& plans) noexcept : cache_(plans) {}

    /// StreamError(request). Throws Error as it does.
    [[nodiscard]] StreamError& errors(const Request& request);

    /// report_of(errors(request), epoch)
    [[nodiscard]] const ForecastReport& report(const Request& request, int epoch = 0);

    /// With the errors of the noise, StreamError's, AnchoredError's, BinsError's or those asked
    /// about themselves: errors.variance_at(t, since)
    [[nodiscard]] double variance_at(const AskedNoise& noise, std::int64_t t, std::int64_t since);

    /// NoiseDistribution(errors.noise_at(t, since)).half_width(confidence), or that of BoxError
    [[nodiscard]] std::int64_t half_width(const AskedNoise& noise, std::int64_t t,
                                          double confidence, std::int64_t since = 0);

    /// dp_counter::share_interval(a, b, ShareQuantiles(errors.noise_at(t, since), confidence)).
    /// Throws Error (parameter) for box and anchored noise and that of bins, which no average has.
    [[nodiscard]] ShareInterval share_interval(const AskedNoise& noise, std::int64_t a,
                                               std::int64_t b, std::int64_t t, double confidence,
                                               std::int64_t since = 0);

private:
    struct Entry {
        Request request;
        StreamError errors;
        std::deque<std::optional<ForecastReport>> reports; ///< of epochs 0, 1, ...
    };
    struct Width { ///< zeroed: unused
        NoiseClass noise;
        double confidence;
        std::int64_t width;
    };

    struct Quantiles { ///< zeroed: unused; 0 where a node has not been asked for
        NoiseClass noise;
        double confidence;
        double node[kShareCells / 2 + 1];
    };

    struct Free {
        void operator()(void* known) const noexcept { std::free(known); }
    };
    static constexpr std::size_t kPlans = 64;
    static constexpr std::size_t kWidths = std::size_t{1} << 17;
    static constexpr std::size_t kQuantiles = std::size_t{1} << 14;

    /// What is remembered of a law among `count`. Pages that are not asked for take no memory.
    template <class Known>
    [[nodiscard]] static Known& remembered(std::unique_ptr<Known[], Free>& all, std::size_t count,
                                           const NoiseClass& noise, double confidence);

    Entry& entry(const Request& request);

    /// ask(errors of the noise)
    template <class Ask>
    auto ask(const AskedNoise& noise, Ask&& ask);

    MechanismCache& cache_;
    std::array<std::optional<Entry>, kPlans> plans_;
    std::unique_ptr<Width[], Free> widths_; ///< null before the first use, then kWidths, by hashing
    std::unique_ptr<Quantiles[], Free> quantiles_; ///< the same, kQuantiles
};

} // namespace dp_counter
