// dp_counter_quantiles: quantiles of what a histogram counted in the last periods, computed from
// releases that the caller may read.
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/accuracy/quantile_interval.hpp"
#include "core/accuracy/release_interval.hpp"
#include "core/count/bins_law.hpp"

#include "pg/planner/windows.hpp"
#include "pg/server/arguments.hpp"
#include "pg/server/decimal_epsilon.hpp"
#include "pg/server/kept_in_context.hpp"
#include "pg/server/postgres_api.hpp"
#include "pg/server/relations.hpp"
#include "pg/server/wall.hpp"

extern "C" {
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/tuplestore.h"
}

namespace dp_counter::pg {
namespace {

constexpr int kMostFractions = 999; // there are no more
constexpr const char* kFractionsHint =
    "The median is '{0.5}', the quartiles are '{0.25,0.5,0.75}'.";

/// In CurrentMemoryContext.
struct Fractions {
    Datum* written;
    Fraction* read;
    int count;
};

Fraction read_fraction(const Argument& argument) {
    check_not_null(argument, "fractions", kFractionsHint);
    Numeric fraction = DatumGetNumeric(argument.value);
    const auto refuse = [&](const char* must) {
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("fractions must %s, not %s", must, text_of(fraction)),
                        errhint("%s", kFractionsHint)));
    };
    if (!is_less(zero_epsilon(), fraction) || !is_less(fraction, decimal("1")))
        refuse("be between 0 and 1");
    Numeric thousandths = times(1000, fraction);
    const auto whole = DirectFunctionCall1(numeric_floor, NumericGetDatum(thousandths));
    if (is_less(DatumGetNumeric(whole), thousandths))
        refuse("have at most 3 decimals");
    const std::int32_t n = DatumGetInt32(DirectFunctionCall1(numeric_int4, whole));
    const std::int32_t divisor = std::gcd(n, 1000);
    return {n / divisor, 1000 / divisor};
}

Fractions read_fractions(const Argument& argument) {
    check_not_null(argument, "fractions", kFractionsHint);
    Fractions fractions{};
    bool* nulls = nullptr;
    deconstruct_array(DatumGetArrayTypeP(argument.value), NUMERICOID, -1, false, TYPALIGN_INT,
                      &fractions.written, &nulls, &fractions.count);
    if (fractions.count < 1 || fractions.count > kMostFractions)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("fractions must be 1 to %d, not %d", kMostFractions, fractions.count),
                 errhint("%s", kFractionsHint)));
    fractions.read =
        static_cast<Fraction*>(palloc(static_cast<Size>(fractions.count) * sizeof(Fraction)));
    for (int i = 0; i < fractions.count; ++i)
        fractions.read[i] = read_fraction({fractions.written[i], nulls[i]});
    return fractions;
}

/// The histograms of the groups in one window after the other, and what is asked of each.
class Histograms {
public:
    Histograms(const Asked& asked, const Fractions& fractions, const PrivacyUnit& unit);

    [[nodiscard]] std::size_t groups() const { return groups_.size(); }
    [[nodiscard]] std::string_view name(std::size_t group) const { return groups_[group].name; }

    /// Takes the windows that end with the step of the last releases.
    void take(const MovingWindows& windows);

    /// The quantiles of a group; none where a bin has no window.
    [[nodiscard]] std::span<const HistogramQuantile> quantiles(std::size_t group);

private:
    struct Group {
        std::string_view name; ///< of a window, which stays where it is
        std::vector<int128> counts;
        std::size_t known; ///< bins that have a window
    };
    struct Place {
        std::size_t group, bin;
    };

    [[nodiscard]] Place place_of(const std::string& window);

    const Asked& asked_;
    std::span<const std::int64_t> bins_;
    std::optional<ReleaseError> totals_; ///< of a histogram in totals
    std::vector<QuantileTest> tests_;
    std::vector<Place> places_; ///< of the windows
    std::vector<Group> groups_;
    std::unordered_map<std::string_view, std::size_t> numbers_;
    std::vector<HistogramQuantile> quantiles_;
};

Histograms::Histograms(const Asked& asked, const Fractions& fractions, const PrivacyUnit& unit)
    : asked_(asked), bins_(asked.declared->measure.bins) {
    BinsNoise noise{unit.scale(1), asked.lag};
    const auto bins = static_cast<std::int32_t>(bins_.size());
    if (asked.row.is_in_totals)
        noise.each = &totals_.emplace(make_mechanism(BinsLaw(unit, bins).totals()));
    tests_.reserve(static_cast<std::size_t>(fractions.count));
    for (int i = 0; i < fractions.count; ++i)
        tests_.emplace_back(noise, bins, fractions.read[i], kReleaseConfidence);
}

Histograms::Place Histograms::place_of(const std::string& window) {
    const WindowName name = name_of(asked_, window);
    const auto [number, is_new] = numbers_.emplace(name.group, groups_.size());
    if (is_new)
        groups_.push_back({name.group, std::vector<int128>(bins_.size()), 0});
    return {number->second, static_cast<std::size_t>(name.place)};
}

void Histograms::take(const MovingWindows& windows) {
    for (Group& group : groups_)
        group.known = 0;
    for (std::int32_t number = 0; number < windows.groups(); ++number) {
        const auto i = static_cast<std::size_t>(number);
        if (i == places_.size())
            places_.push_back(place_of(windows.name(number)));
        if (const auto window = windows.window(number)) {
            Group& group = groups_[places_[i].group];
            group.counts[places_[i].bin] = window->numbers.one;
            ++group.known;
        }
    }
}

std::span<const HistogramQuantile> Histograms::quantiles(std::size_t group) {
    quantiles_.clear();
    if (groups_[group].known < bins_.size())
        return {};
    const HistogramSums sums(groups_[group].counts);
    for (QuantileTest& test : tests_)
        quantiles_.push_back(quantile_of(sums, bins_, test));
    return quantiles_;
}

/// The rows of the result. Trivial.
struct Result {
    enum Column { kPeriod, kGroup, kStep, kFraction, kQuantile, kLow, kHigh, kColumns };

    const ReturnSetInfo* rows;
    const Asked& asked;
    const Fractions& fractions;
    MovingWindows& windows;
    Histograms& histograms;

    void put(std::int64_t step);
};

/// Once all releases of the step are in the windows.
void Result::put(std::int64_t step) {
    run([&] { histograms.take(windows); });
    Datum values[kColumns] = {};
    bool nulls[kColumns] = {};
    values[kPeriod] = TimestampGetDatum(asked.beginning(step));
    values[kStep] = Int64GetDatum(step);
    nulls[kGroup] = !asked.has_group();
    for (std::size_t group = 0; group < histograms.groups(); ++group) {
        CHECK_FOR_INTERRUPTS();
        const auto quantiles = run([&] { return histograms.quantiles(group); });
        const std::string_view name = histograms.name(group);
        text* written = cstring_to_text_with_len(name.data(), static_cast<int>(name.size()));
        values[kGroup] = PointerGetDatum(written);
        for (std::size_t i = 0; i < quantiles.size(); ++i) {
            const auto& [value, low, high] = quantiles[i];
            values[kFraction] = fractions.written[i];
            values[kQuantile] = Float8GetDatum(value.value_or(0));
            values[kLow] = Int64GetDatum(low.value_or(0));
            values[kHigh] = Int64GetDatum(high.value_or(0));
            nulls[kQuantile] = !value;
            nulls[kLow] = !low;
            nulls[kHigh] = !high;
            tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
        }
        pfree(written);
    }
}

void put_quantiles(const Asked& asked, const Fractions& fractions, const ReturnSetInfo* rows) {
    const PrivacyUnit unit = privacy_of(asked.row);
    auto& histograms = room_in<Histograms>(CurrentMemoryContext);
    run([&] { histograms.emplace(asked, fractions, unit); });
    MovingWindows& windows = windows_in(CurrentMemoryContext, asked);
    Result result{rows, asked, fractions, windows, *histograms};
    read_windows(asked, windows, result);
}

} // namespace

DP_FUNCTION(dp_counter_quantiles) {
    const NullableDatum* args = fcinfo->args;
    const Fractions fractions = read_fractions(args[1]);
    const Asked asked = read_asked(args[0], args[2], args[3], args[4]);
    if (!asked.has_bins())
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("counter \"%s\" has no bins", name_of_relation(asked.view)),
                 errhint("Quantiles are of a counter that was created with histogram and bins.")));
    InitMaterializedSRF(fcinfo, 0);
    if (asked.first <= asked.last) {
        SPI_connect();
        put_quantiles(asked, fractions, reinterpret_cast<const ReturnSetInfo*>(fcinfo->resultinfo));
        SPI_finish();
    }
    PG_RETURN_VOID();
}

} // namespace dp_counter::pg
