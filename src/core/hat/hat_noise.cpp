#include "core/hat/hat_noise.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace dp_counter {

std::size_t HatNoise::bytes(const HatWeights& weights) noexcept {
    std::size_t size = sizeof(HatNoise);
    for (int l = 1; l < weights.height(); ++l)
        size +=
            sizeof(Level) + static_cast<std::size_t>(weights.level(l).queue) * sizeof(std::int64_t);
    return size;
}

HatNoise* HatNoise::create(void* block, const HatWeights& weights) noexcept {
    std::memset(block, 0, bytes(weights));
    auto* noise = new (block) HatNoise;
    noise->horizon_ = weights.horizon();
    noise->leaf_shift_ = 48 - weights.lattice_bits();
    noise->levels_ = weights.height() - 1;
    std::size_t end = sizeof(HatNoise) + static_cast<std::size_t>(noise->levels_) * sizeof(Level);
    for (int l = 1; l < weights.height(); ++l) {
        Level& level = noise->level(l);
        level.queue = static_cast<std::int64_t>(end);
        level.queue_size = weights.level(l).queue;
        end += static_cast<std::size_t>(level.queue_size) * sizeof(std::int64_t);
    }
    return noise;
}

void HatNoise::enter(const HatWeights& weights, int l) {
    const HatWeightsLevel& shape = weights.level(l);
    Level& here = level(l);
    here.tick = 0;
    here.ticks = shape.ticks(here.cell);
    here.row = weights.rows_at(l, here.cell);
}

void HatNoise::settle(const HatWeights& weights, int l, std::int64_t value) noexcept {
    settled_ += static_cast<uint128>(static_cast<int128>(value))
                << (64 - weights.lattice_bits() * l);
}

/// The windows above level 1, for the steps of the level-1 cell that begins.
void HatNoise::interpolate(const HatWeights& weights) noexcept {
    const int q = weights.lattice_bits();
    held_ = settled_;
    slope_ = 0;
    HatProgress progress = HatProgress::of_leaf_cell(level(1).ticks);
    for (int l = 2; l < weights.height(); ++l) {
        const Level& here = level(l);
        if (here.ticks == 0)
            break; // nor has any above it opened
        const std::int64_t w = here.tick - 1;
        const HatRow* const row_weights = row(weights, here) + w;
        const HatRamp ramp =
            hat_ramp(row_weights[0], row_weights[1], progress, hat_ramp_bits(q, l));
        int128 base = 0;
        int128 slope = 0;
        for (int m = 0; m < kHatWindow; ++m) {
            base += static_cast<int128>(here.window[m]) * ramp.base[m];
            slope += static_cast<int128>(here.window[m]) * ramp.slope[m];
        }
        const int shift = hat_ramp_shift(q, l);
        // advance() adds slope_ before it reads: start one step before the first tick's place.
        held_ += static_cast<uint128>(base - slope) << shift;
        slope_ += static_cast<uint128>(slope * 2) << shift;
        progress = progress.above(w, here.ticks);
    }
}

/// All weights are 1 at the last step.
FixedPoint HatNoise::close(const HatWeights& weights) noexcept {
    for (int l = 1; l < weights.height(); ++l) {
        for (std::int64_t& value : level(l).window) {
            settle(weights, l, value);
            value = 0;
        }
    }
    return static_cast<FixedPoint>(settled_);
}

/// The integers of the stream's place in the tree follow from the step alone.
bool HatNoise::is_place_at(const HatWeights& weights, std::int64_t t) {
    std::int64_t tick = t - 1; // of the level in turn
    std::int64_t passed = t;   // children of the level in turn that have been used
    for (int l = 1; l < weights.height(); ++l) {
        const HatWeightsLevel& shape = weights.level(l);
        Level& here = level(l);
        if (t == 0 || tick < shape.opens) {
            if ((here.cell | here.tick | here.ticks | here.head) != 0 || here.tail != passed)
                return false;
            tick = shape.first_cell;
            passed = 0;
            continue;
        }
        const std::int64_t cell = shape.cell_of(tick);
        const std::int64_t drawn = shape.drawn_to(cell);
        const std::int64_t begun = tick - shape.start(cell) + 1;
        if (here.cell != cell || here.tick != begun || here.ticks != shape.ticks(cell) ||
            here.head != passed % here.queue_size ||
            here.tail != shape.end_child(drawn) % here.queue_size)
            return false;
        here.row = weights.rows_at(l, cell);
        tick = cell;
        passed = std::max<std::int64_t>(0, std::min(drawn, shape.knots - 1) + 1);
    }
    return true;
}

bool HatNoise::is_state_at(const HatWeights& weights, std::int64_t t) {
    if (step_ != t || !is_place_at(weights, t))
        return false;
    if (levels_ == 0)
        return settled_ >> 64 == 0 && held_ == 0 && slope_ == 0;
    for (int l = 1; l < weights.height(); ++l)
        for (const std::int64_t value : level(l).window)
            if (value >= kWindowLimit || value <= -kWindowLimit)
                return false;
    return true;
}

void HatNoise::throw_past_horizon() {
    throw Error(Fault::data, "the stream has more rows than its horizon",
                "Use a horizon that no stream exceeds.");
}

} // namespace dp_counter
