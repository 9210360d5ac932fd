#include "core/epochs.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "core/hat_choice.hpp"

namespace dp_counter {

namespace {

constexpr std::int64_t kEnumerated = 1 << 20; ///< steps of an epoch, at most

constexpr std::int64_t kBegin[kEpochs + 1] = {
    0,
    14,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
    kMaxHorizon,
};

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

HatSpec usual_spec(int epoch, Epsilon epsilon) {
    const std::int64_t length = epoch_length(epoch);
    if (epoch < kSearched)
        return fitted_hat_spec(length, {kShapes[epoch].shape, kShapes[epoch].levels}, epsilon);
    // Three knots on top, radices near 22.
    const double blocks = static_cast<double>(length) / 3;
    const double levels = std::round(std::log(blocks) / std::log(22.0));
    const auto radix = static_cast<std::int32_t>(std::ceil(std::pow(blocks, 1 / levels)));
    std::vector<HatShape> shapes(static_cast<std::size_t>(levels), HatShape{radix, radix * 7 / 10});
    shapes.back().offset = radix * 9 / 20;
    return fitted_hat_spec(length, shapes, epsilon);
}

/// What an epoch costs itself and those after it.
double cost(const HatSpec& spec, Epsilon epsilon) {
    const HatPlanBlock plan(spec);
    const double rounding = spec.height > 1 ? 2 * kRoundingVariance : 0;
    return hat_spec_mse(spec, epsilon) + hat_variance_at(plan.get(), epsilon, spec.horizon) +
           rounding;
}

} // namespace

std::int64_t epoch_begin(int epoch) noexcept {
    return kBegin[epoch];
}

std::int64_t epoch_length(int epoch) noexcept {
    return kBegin[epoch + 1] - kBegin[epoch];
}

int epoch_of(std::int64_t t) noexcept {
    return static_cast<int>(std::lower_bound(kBegin + 1, kBegin + kEpochs, t) - (kBegin + 1));
}

HatSpec epoch_spec(int epoch, Epsilon epsilon) {
    const HatSpec usual = usual_spec(epoch, epsilon);
    const bool fits = hat_fits(usual, epsilon);
    if (fits && is_nearly_continuous(epsilon))
        return usual;
    const HatSpec bridge = choose_bridge(epoch_length(epoch), epsilon);
    return fits && cost(usual, epsilon) <= cost(bridge, epsilon) ? usual : bridge;
}

EpochNoise* EpochNoise::create(void* block, const HatPlan& plan) noexcept {
    auto* noise = new (block) EpochNoise;
    noise->closed_ = 0;
    noise->left_ = epoch_length(0);
    noise->epoch_ = 0;
    noise->unused_ = 0;
    HatNoise::create(noise + 1, plan);
    return noise;
}

EpochNoise* EpochNoise::next(void* block, const HatPlan& plan,
                             const EpochNoise& previous) noexcept {
    auto* noise = new (block) EpochNoise;
    noise->closed_ = previous.closed_;
    noise->left_ = epoch_length(previous.epoch() + 1);
    noise->epoch_ = previous.epoch_ + 1;
    noise->unused_ = 0;
    HatNoise::create(noise + 1, plan);
    return noise;
}

EpochErrors::Epoch& EpochErrors::at(int epoch) {
    while (static_cast<int>(epochs_.size()) <= epoch) {
        const int next = static_cast<int>(epochs_.size());
        const HatSpec spec = epoch_spec(next, epsilon_);
        HatPlanBlock plan(spec);
        const double rounding = spec.height > 1 ? kRoundingVariance : 0;
        const double total = hat_variance_at(plan.get(), epsilon_, spec.horizon) + rounding;
        const double before =
            epochs_.empty() ? 0 : epochs_.back().carried_in + epochs_.back().total;
        epochs_.push_back({std::move(plan), before, total, -1});
    }
    return epochs_[static_cast<std::size_t>(epoch)];
}

double EpochErrors::variance_at(std::int64_t t) {
    const int epoch = epoch_of(t);
    const Epoch& here = at(epoch);
    return here.carried_in + hat_variance_at(here.plan.get(), epsilon_, t - epoch_begin(epoch));
}

double EpochErrors::mse(std::int64_t t) {
    const int last = epoch_of(t);
    double sum = 0;
    for (int epoch = 0; epoch <= last; ++epoch) {
        Epoch& here = at(epoch);
        const std::int64_t length = epoch_length(epoch);
        const std::int64_t steps = std::min(length, t - epoch_begin(epoch));
        double own = 0;
        if (steps == length) {
            if (here.mse < 0)
                here.mse = hat_mse(here.plan.get(), epsilon_);
            own = here.mse;
        } else {
            const std::int64_t count = std::min(steps, kEnumerated);
            for (std::int64_t i = 0; i < count; ++i) {
                // One step from each of `count` equal parts, not always at the same place in it.
                const auto begin =
                    static_cast<std::int64_t>(static_cast<int128>(steps) * i / count);
                const auto end =
                    static_cast<std::int64_t>(static_cast<int128>(steps) * (i + 1) / count);
                const std::int64_t place = (end - begin) * (i * 7919 % 8192) / 8192;
                own += hat_variance_at(here.plan.get(), epsilon_, begin + place + 1);
            }
            own /= static_cast<double>(count);
        }
        sum += static_cast<double>(steps) * (here.carried_in + own);
    }
    return sum / static_cast<double>(t);
}

} // namespace dp_counter
