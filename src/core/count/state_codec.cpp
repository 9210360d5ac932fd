#include "core/count/state_codec.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/count/epochs.hpp"

namespace dp_counter {

namespace {

constexpr unsigned char kMagic[4] = {'D', 'P', 'C', 'S'};
constexpr std::uint16_t kVersion = 1;
constexpr std::uint8_t kChosen = 255;

/// The spec that has these levels, made as every spec is: what cannot be made is refused.
HatLevels make_spec(const HatLevels& stored) {
    const std::span levels(stored.level, static_cast<std::size_t>(stored.height - 1));
    std::vector<HatShape> shapes;
    for (const HatLevel& level : levels) {
        shapes.push_back({level.radix, level.offset});
        const HatLevels usual = hat_levels(stored.horizon, shapes);
        const auto extra = checked_sub(level.knots, usual.level[shapes.size() - 1].knots);
        constexpr std::int64_t refused = kMostExtra + 1;
        shapes.back().extra = static_cast<std::int32_t>(std::clamp(extra, -refused, refused));
    }
    return hat_levels(stored.horizon, shapes, stored.end,
                      std::min(stored.lattice_bits, kMostLatticeBits));
}

Mechanism mechanism_of(std::uint8_t value) {
    require(value <= static_cast<std::uint8_t>(Mechanism::hat));
    return static_cast<Mechanism>(value);
}

MechanismSpec read_spec(ByteReader& reader, const PrivacyUnit& unit) {
    const auto mechanism = mechanism_of(reader.integer<std::uint8_t>());
    const auto radix = reader.integer<std::int32_t>(0, kMaxRadix);
    const auto horizon = reader.integer<std::int64_t>(1, kMaxHorizon);
    MechanismSpec spec{mechanism, radix, 0, horizon, unit, {}};
    if (spec.is_tree()) {
        require(radix >= kMinRadix);
        spec.height = spec.digits().height(horizon);
        unit.require_scale(spec.height);
        return spec;
    }
    HatLevels stored{};
    stored.horizon = horizon;
    constexpr auto last_end = static_cast<std::uint8_t>(HatLevels::End::fading);
    stored.end = static_cast<HatLevels::End>(reader.integer<std::uint8_t>(0, last_end));
    stored.lattice_bits = reader.integer<std::uint8_t>(0, 62);
    stored.height = reader.integer<std::uint8_t>(0, HatLevels::kMaxHeight - 1) + 1;
    for (int l = 0; l + 1 < stored.height; ++l) {
        stored.level[l].radix = reader.integer<std::int32_t>();
        stored.level[l].offset = reader.integer<std::int32_t>();
        stored.level[l].knots = reader.integer<std::int64_t>();
    }
    spec.levels = make_spec(stored);
    require(spec.levels == stored);
    require_hat_fits(spec.levels, unit);
    unit.require_scale(stored.height);
    spec.height = stored.height;
    return spec;
}

StateCodec::Public read_public(ByteReader& reader) {
    const auto horizon = reader.integer<std::int64_t>(0, kMaxHorizon);
    const Epsilon epsilon(reader.real(Epsilon::kMin, Epsilon::kMax));
    const PrivacyUnit unit(
        epsilon, reader.integer<std::int64_t>(1, std::numeric_limits<std::int64_t>::max()));
    Request request{horizon, unit, {}, {}};
    if (const auto radix = reader.integer<std::int32_t>(0, kMaxRadix); radix != 0)
        request.radix = radix;
    require(request.radix.value_or(kMinRadix) >= kMinRadix);
    if (const auto chosen = reader.integer<std::uint8_t>(); chosen != kChosen)
        request.mechanism = mechanism_of(chosen);
    const MechanismSpec spec = read_spec(reader, unit);
    return {request, spec, reader.rest()};
}

} // namespace

void StateCodec::write(CounterState& state, ByteWriter& writer) {
    writer.raw(kMagic);
    writer.integer(kVersion);

    const Request& request = state.request_;
    writer.integer(request.horizon);
    writer.real(request.unit.epsilon.value());
    writer.integer(request.unit.sensitivity);
    writer.integer(request.radix.value_or(0));
    writer.integer(request.mechanism ? static_cast<std::uint8_t>(*request.mechanism) : kChosen);

    const MechanismSpec& spec = state.spec_;
    writer.integer(static_cast<std::uint8_t>(spec.mechanism));
    writer.integer(spec.radix);
    writer.integer(spec.horizon);
    if (!spec.is_tree()) {
        writer.integer(static_cast<std::uint8_t>(spec.levels.end));
        writer.integer(static_cast<std::uint8_t>(spec.levels.lattice_bits));
        writer.integer(static_cast<std::uint8_t>(spec.height - 1));
        for (int l = 0; l + 1 < spec.height; ++l) {
            writer.integer(spec.levels.level[l].radix);
            writer.integer(spec.levels.level[l].offset);
            writer.integer(spec.levels.level[l].knots);
        }
    }

    writer.integer(state.step_);
    writer.integer(state.epoch_);
    writer.integer(state.epoch_start_);
    writer.integer(state.noise_);
    writer.integer(state.carried_);
    writer.real(state.variance_);
    writer.real(state.carried_variance_);

    state.engine().for_each_integer([&](std::int64_t& value) { writer.integer(value); });
}

std::size_t StateCodec::encoded_bytes(CounterState& state) {
    ByteWriter counter(nullptr);
    write(state, counter);
    return counter.size() + kChecksumBytes;
}

void StateCodec::encode(CounterState& state, unsigned char* out) {
    ByteWriter writer(out);
    write(state, writer);
    writer.checksum();
}

/// Into the counter's own memory, which is wiped some day: no copy may be left elsewhere.
void StateCodec::read_progress(ByteReader& reader, CounterState& state) {
    state.step_ = reader.integer<std::int64_t>(0, kMaxHorizon);
    state.epoch_ = reader.integer<std::int64_t>(0, kEpochs - 1);
    state.epoch_start_ = reader.integer<std::int64_t>(0, state.step_);
    state.noise_ = reader.integer<FixedPoint>();
    state.carried_ = reader.integer<FixedPoint>();
    state.variance_ = reader.real(0, std::numeric_limits<double>::max());
    state.carried_variance_ = reader.real(0, std::numeric_limits<double>::max());

    const int epoch = static_cast<int>(state.epoch_);
    require(!state.is_bounded() || epoch == 0);
    require(state.epoch_start_ == epoch_begin(epoch));
    require(state.spec_.horizon ==
            (state.is_bounded() ? state.request_.horizon : epoch_length(epoch)));
    require(state.step_of_epoch() <= state.spec_.horizon);
    if (state.epoch_ == 0)
        require(state.carried_ == 0 && state.carried_variance_ == 0);
}

StateCodec::Public StateCodec::decode_public(Bytes bytes) {
    ByteReader reader(checked(bytes, kMagic, kVersion));
    try {
        return read_public(reader);
    } catch (const Error&) { // parameters that no mechanism can have
        throw_corrupt();
    }
}

CounterState* StateCodec::decode(const Public& stored, const PreparedMechanism& prepared,
                                 void* block) {
    ByteReader reader(stored.progress);
    auto* state = CounterState::create(block, stored.request, prepared);
    read_progress(reader, *state);
    state->engine().for_each_integer(
        [&](std::int64_t& value) { value = reader.integer<std::int64_t>(); });
    require(reader.rest().empty());
    require(state->engine().is_state_at(prepared, state->step_of_epoch()));
    return state;
}

} // namespace dp_counter
