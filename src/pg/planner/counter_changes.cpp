// dp_counter_changes: what each group counted in the last periods, computed from releases that the
// caller may read.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/accuracy/release_interval.hpp"

#include "pg/planner/windows.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/public_plans.hpp"
#include "pg/server/wall.hpp"

extern "C" {
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/tuplestore.h"
}

namespace dp_counter::pg {
namespace {

AskedNoise noise_of(const CounterRow& row) {
    if (row.cumulative)
        return read_request({.epsilon = {Float8GetDatum(mechanism_epsilon(row.epsilon)), false},
                             .sensitivity = {Int64GetDatum(row.sensitivity), false},
                             .horizon = {Int64GetDatum(row.horizon), row.horizon == kUnbounded},
                             .k = {Int32GetDatum(row.k), row.k == 0},
                             .mechanism = {PointerGetDatum(row.mechanism), false}});
    const PrivacyUnit unit = privacy_of(row);
    return run([&]() -> AskedNoise {
        if (row.is_anchored)
            return AnchoredLaw(unit, row.block);
        if (row.block != 0)
            return BoxError({unit, row.block});
        if (row.is_in_totals)
            return AskedBin{{unit, row.k}};
        return IndependentError(unit);
    });
}

/// Their noise, from public parameters. Trivial.
class Noise {
public:
    explicit Noise(const Asked& asked) : noise_(noise_of(asked.row)) {
        if (!asked.is_difference())
            lag_ = asked.lag;
        else if (asked.is_active() && !asked.row.is_anchored)
            lag_ = 2; // the noises of two numbers
        if (asked.row.block != 0)
            block_ = asked.row.block;
        if (asked.row.is_in_totals)
            of_bins_ =
                static_cast<Error*>(palloc0(asked.declared->measure.bins.size() * sizeof(Error)));
    }

    struct Error {
        std::int64_t step, since;
        double stddev;
        std::int64_t width; ///< of the interval, to each side
    };
    /// That of totals is computed once for the groups of a step, as they began in it or before,
    /// that of a bin, numbered from 0, once.
    [[nodiscard]] const Error& error(std::int64_t step, std::int64_t since, std::int32_t bin) {
        place(step, since);
        Error& known = of_bins_ != nullptr ? of_bins_[bin] : known_[since == 0 ? 1 : 0];
        if (auto* asked = std::get_if<AskedBin>(&noise_))
            asked->bin = bin + 1;
        if (known.step != step || known.since != since)
            known = run([&]() -> Error {
                return {step, since, std::sqrt(public_forecast.variance_at(noise_, step, since)),
                        public_forecast.half_width(noise_, step, kReleaseConfidence, since)};
            });
        return known;
    }

    [[nodiscard]] ShareInterval share(std::int64_t above, std::int64_t below, std::int64_t step,
                                      std::int64_t since) const {
        place(step, since);
        return run([&] {
            return public_forecast.share_interval(noise_, above, below, step, kReleaseConfidence,
                                                  since);
        });
    }

private:
    /// The noise of single periods depends on their number alone, and on where a block begins.
    void place(std::int64_t& step, std::int64_t& since) const {
        if (lag_ == 0)
            return;
        since %= block_;
        step = since + lag_;
    }

    AskedNoise noise_;
    std::int64_t lag_ = 0;   ///< of single periods
    std::int64_t block_ = 1; ///< of box noise
    Error known_[2] = {};
    Error* of_bins_ = nullptr; ///< of those that are in totals
};

/// The rows of the result. Trivial.
struct Result {
    enum Column {
        kPeriod,
        kGroup,
        kBin,
        kStep,
        kCount,
        kSum,
        kAvg,
        kStddev,
        kLow,
        kHigh,
        kColumns
    };

    const ReturnSetInfo* rows;
    const Asked& asked;
    MovingWindows& windows;
    Noise noise;
    Datum* groups; ///< the names of the first `named`
    std::int32_t named;

    void put(std::int64_t step);

private:
    Datum group_name(std::int32_t group);
    void put_number(const MovingWindows::Window& window, std::int64_t step, std::int32_t bin,
                    Datum* values, bool* nulls);
    void put_average(const MovingWindows::Window& window, std::int64_t step, Datum* values,
                     bool* nulls) const;
};

Datum Result::group_name(std::int32_t group) {
    if (group >= named) {
        const Size bytes = static_cast<Size>(windows.groups()) * sizeof(Datum);
        groups = static_cast<Datum*>(groups != nullptr ? repalloc(groups, bytes) : palloc(bytes));
        for (; named < windows.groups(); ++named) {
            const std::string_view name = name_of(asked, windows.name(named)).group;
            groups[named] = PointerGetDatum(
                cstring_to_text_with_len(name.data(), static_cast<int>(name.size())));
        }
    }
    return groups[group];
}

void Result::put_number(const MovingWindows::Window& window, std::int64_t step, std::int32_t bin,
                        Datum* values, bool* nulls) {
    const std::int64_t number = saturated(window.numbers.one);
    const Noise::Error& error = noise.error(step, window.since, bin);
    const bool is_signed =
        (asked.is_sum() && asked.declared->measure.lower < 0) || asked.is_active();
    const double least = is_signed ? -HUGE_VAL : 0;
    constexpr auto kMost = static_cast<double>(std::numeric_limits<std::int64_t>::max());
    const auto end = [&](double width) {
        return Float8GetDatum(
            std::min(std::max(static_cast<double>(number) + width, least), kMost));
    };
    const auto width = static_cast<double>(error.width);
    values[asked.is_sum() ? kSum : kCount] = Int64GetDatum(number);
    nulls[asked.is_sum() ? kSum : kCount] = false;
    values[kStddev] = Float8GetDatum(error.stddev);
    values[kLow] = end(-width);
    values[kHigh] = end(width);
    nulls[kStddev] = false;
}

void Result::put_average(const MovingWindows::Window& window, std::int64_t step, Datum* values,
                         bool* nulls) const {
    const Measure& measure = asked.declared->measure;
    const std::int64_t above = saturated(window.numbers.one);
    const std::int64_t below = saturated(window.numbers.other);
    // Both together are the events times `largest`.
    const int128 total = int128{above} + below;
    const std::int64_t half = measure.largest() / 2 * (total < 0 ? -1 : 1);
    values[kCount] = Int64GetDatum(saturated((total + half) / measure.largest()));
    nulls[kCount] = false;
    const auto mean = average(above, below, measure.lower, measure.upper);
    values[kAvg] = Float8GetDatum(mean.value_or(0));
    nulls[kAvg] = !mean;
    const ShareInterval share = noise.share(above, below, step, window.since);
    values[kLow] = Float8GetDatum(value_between(measure.lower, measure.upper, share.low));
    values[kHigh] = Float8GetDatum(value_between(measure.lower, measure.upper, share.high));
}

/// Once all releases of the step are in the windows.
void Result::put(std::int64_t step) {
    Datum values[kColumns] = {};
    bool nulls[kColumns];
    values[kStep] = Int64GetDatum(step);
    if (asked.declared)
        values[kPeriod] = TimestampGetDatum(asked.beginning(step));
    for (std::int32_t group = 0; group < windows.groups(); ++group) {
        CHECK_FOR_INTERRUPTS();
        const std::optional<MovingWindows::Window> window = windows.window(group);
        if (!window || (asked.is_active() && window->since == 0))
            continue;
        std::fill_n(nulls, static_cast<int>(kColumns), true);
        nulls[kStep] = nulls[kLow] = nulls[kHigh] = false;
        nulls[kPeriod] = !asked.declared;
        nulls[kGroup] = !asked.has_group();
        if (asked.has_group())
            values[kGroup] = group_name(group);
        nulls[kBin] = !asked.has_bins();
        const WindowName name = name_of(asked, windows.name(group));
        values[kBin] = Int64GetDatum(name.bin);
        if (asked.is_average())
            put_average(*window, step, values, nulls);
        else
            put_number(*window, step, name.place, values, nulls);
        tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
    }
}

void put_changes(const Asked& asked, const ReturnSetInfo* rows) {
    MovingWindows& windows = windows_in(CurrentMemoryContext, asked);
    Result result{rows, asked, windows, Noise(asked), nullptr, 0};
    read_windows(asked, windows, result);
}

} // namespace

DP_FUNCTION(dp_counter_changes) {
    const NullableDatum* args = fcinfo->args;
    const Asked asked = read_asked(args[0], args[1], args[2], args[3]);
    InitMaterializedSRF(fcinfo, 0);
    if (asked.first <= asked.last) {
        SPI_connect();
        put_changes(asked, reinterpret_cast<const ReturnSetInfo*>(fcinfo->resultinfo));
        SPI_finish();
    }
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
