#include "core/count/epochs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/hat/hat_choice.hpp"
#include "core/hat/hat_variance.hpp"

namespace dp_counter {

namespace {

/// Where the epochs begin, and the last one ends.
constexpr auto kBegin = [] {
    std::array<std::int64_t, kEpochs + 1> begin{0, 14};
    std::int64_t steps = 10;
    for (std::size_t epoch = 2; epoch < kEpochs; ++epoch)
        begin[epoch] = steps *= 10;
    begin[kEpochs] = kMaxHorizon;
    return begin;
}();
static_assert(kBegin[kEpochs - 1] == 1'000'000'000'000'000'000);

/// The first epochs' shapes, found by the climbing search of tools/make_hat_table.cpp with the
/// number of top knots held at 2 or 3. Later epochs follow the pattern.
struct Shapes {
    std::size_t levels;
    HatShape shape[5];
};
constexpr Shapes kShapes[] = {
    {1, {{8, 4}}},
    {1, {{33, 13}}},
    {2, {{23, 15}, {23, 10}}},
    {3, {{17, 13, -1}, {17, 12}, {18, 8}}},
    {4, {{16, 11}, {16, 11}, {16, 9}, {16, 6, 1}}},
    {4, {{25, 18}, {24, 18}, {25, 18}, {25, 10, 1}}},
    {5, {{19, 15}, {21, 15}, {21, 15}, {21, 13}, {21, 9, 1}}},
};
constexpr int kSearched = sizeof kShapes / sizeof *kShapes;

HatLevels usual_levels(int epoch, PrivacyUnit unit) {
    const std::int64_t length = epoch_length(epoch);
    if (epoch < kSearched)
        return fitted_hat_levels(length, {kShapes[epoch].shape, kShapes[epoch].levels}, unit);
    // Three knots on top, radices near 22.
    const double blocks = static_cast<double>(length) / 3;
    const double levels = std::round(std::log(blocks) / std::log(22.0));
    const auto radix = static_cast<std::int32_t>(std::ceil(std::pow(blocks, 1 / levels)));
    std::vector<HatShape> shapes(static_cast<std::size_t>(levels), HatShape{radix, radix * 7 / 10});
    shapes.back().offset = radix * 9 / 20;
    return fitted_hat_levels(length, shapes, unit);
}

/// What an epoch costs itself and those after it.
double cost(const HatLevels& spec, PrivacyUnit unit) {
    const HatWeightsBlock weights(spec);
    return hat_levels_mse(spec, unit) + hat_variance_at(weights.get(), unit, spec.horizon) +
           (spec.height > 1 ? kRoundingVariance : 0);
}

} // namespace

std::int64_t epoch_begin(int epoch) noexcept {
    return kBegin[static_cast<std::size_t>(epoch)];
}

std::int64_t epoch_length(int epoch) noexcept {
    return epoch_begin(epoch + 1) - epoch_begin(epoch);
}

int epoch_of(std::int64_t t) noexcept {
    const auto* const ends = kBegin.begin() + 1;
    return static_cast<int>(std::lower_bound(ends, kBegin.begin() + kEpochs, t) - ends);
}

int epochs_begun(std::int64_t horizon, std::int64_t t) noexcept {
    if (t <= 0)
        return 0;
    return horizon == kUnbounded ? epoch_of(t) + 1 : 1;
}

std::int64_t steps_of_epoch(std::int64_t horizon, int epoch, std::int64_t t) noexcept {
    if (horizon != kUnbounded)
        return t;
    return std::clamp<std::int64_t>(t - epoch_begin(epoch), 0, epoch_length(epoch));
}

HatLevels epoch_levels(int epoch, PrivacyUnit unit) {
    const HatLevels usual = usual_levels(epoch, unit);
    const HatLevels flat = hat_levels(epoch_length(epoch), {});
    if (is_nearly_continuous(unit) || !hat_fits(flat, unit))
        return usual;
    return cost(usual, unit) <= cost(flat, unit) ? usual : flat;
}

} // namespace dp_counter
