#include <cmath>

#include "core/accuracy/forecast.hpp"
#include "core/literature/gaussian_noise.hpp"
#include "fuzz/input.hpp"

namespace dp_counter::test {

void fuzz_report(Bytes bytes) {
    Input input(bytes);
    try {
        const Epsilon epsilon(input.take<double>());
        Request request{input.take<std::int64_t>() % 100000, epsilon, {}, {}};
        const auto mechanism = input.take<std::uint8_t>();
        if (mechanism <= static_cast<std::uint8_t>(Mechanism::hat))
            request.mechanism = static_cast<Mechanism>(mechanism);
        if ((input.take<std::uint8_t>() & 1U) != 0)
            request.radix = input.take<std::int32_t>();
        const auto t = input.take<std::int64_t>();
        const auto confidence = input.take<double>();
        static MechanismCache plans; // as in a backend
        static Forecast forecast(plans);
        if (request.horizon != kUnbounded) {
            const ForecastReport& report = forecast.report(request);
            require(report.mse > 0 || epsilon.value() > 100, "noise has a variance");
            require(std::isfinite(report.mse) && report.max_stddev >= report.rmse * 0.999,
                    "the greatest error is not below the mean one");
        }
        const std::int64_t width = forecast.half_width(request, t, confidence);
        require(width >= 0, "an interval has two ends");
        require(width == forecast.half_width(request, t, confidence),
                "answers are remembered right");
        const auto a = input.take<std::int64_t>();
        const ShareInterval share = forecast.share_interval(request, a, width, t, confidence);
        require(share.low >= 0 && share.low <= share.high && share.high <= 1,
                "the interval of a share is a part of 0 .. 1");
        require(share.high == forecast.share_interval(request, a, width, t, confidence).high,
                "answers are remembered right");
        const Delta delta(input.take<double>());
        require(gaussian_is_private(analytic_gaussian_stddev(epsilon, delta) * (1 + 1e-8), epsilon,
                                    delta),
                "the analytic Gaussian mechanism is private");
    } catch (const Error& error) {
        require(error.fault() == Fault::parameter || error.fault() == Fault::overflow,
                "parameters fail as parameters");
    }
}

} // namespace dp_counter::test
